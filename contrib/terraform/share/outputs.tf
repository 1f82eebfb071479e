locals {
  # The preferred location, if the service names one.
  exports   = openstack_sharedfilesystem_share_v2.this.export_locations
  preferred = [for one in local.exports : one.path if one.preferred == "true"]
  export    = concat(local.preferred, [for one in local.exports : one.path])[0]
}

output "id" {
  description = "Id of the share."
  value       = openstack_sharedfilesystem_share_v2.this.id
}

output "export_location" {
  description = "Where the share is: SERVER:PATH."
  value       = local.export
}

output "mount_line" {
  description = "The command that mounts the share on a client."
  value       = "mount -t nfs -o vers=4.1 ${local.export} ${var.mount_point}"
  # A client that mounts before its rule is active is refused.
  depends_on = [openstack_sharedfilesystem_share_access_v2.clients]
}
