# An example of the module. Logins come from clouds.yaml (OS_CLOUD) or OS_* variables.
module "web" {
  source   = "./share"
  name     = "web"
  size     = 1
  clients  = { "10.0.0.0/24" = "rw", "10.0.1.5" = "ro" }
  metadata = { team = "web" }
}

output "mount_line" {
  value = module.web.mount_line
}
