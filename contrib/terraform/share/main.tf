resource "openstack_sharedfilesystem_share_v2" "this" {
  name             = var.name
  share_proto      = "NFS"
  size             = var.size
  share_type       = var.share_type
  share_network_id = var.share_network_id
  metadata         = var.metadata
}

resource "openstack_sharedfilesystem_share_access_v2" "clients" {
  for_each     = var.clients
  share_id     = openstack_sharedfilesystem_share_v2.this.id
  access_type  = "ip"
  access_to    = each.key
  access_level = each.value
}
