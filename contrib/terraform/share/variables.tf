variable "name" {
  description = "Name of the share."
  type        = string
}

variable "size" {
  description = "Size in GiB. A larger one extends the share, while clients use it."
  type        = number

  validation {
    condition     = var.size >= 1 && floor(var.size) == var.size
    error_message = "The size is a whole number of GiB."
  }
}

variable "share_type" {
  description = "Share type; without one the default of the service."
  type        = string
  default     = null
}

variable "share_network_id" {
  description = "Share network, for a type with share servers."
  type        = string
  default     = null
}

variable "clients" {
  description = "Who may mount it: addresses or networks, each with rw or ro."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for level in values(var.clients) : contains(["rw", "ro"], level)])
    error_message = "The level of a client is rw or ro."
  }
}

variable "metadata" {
  description = "Metadata of the share."
  type        = map(string)
  default     = {}
}

variable "mount_point" {
  description = "Directory of the clients, for the output of the mount line."
  type        = string
  default     = "/mnt/share"
}
