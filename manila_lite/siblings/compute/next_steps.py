# SPDX-License-Identifier: Apache-2.0
"""The next step after a refusal that only the compute service has, by its error code. See ``api/http/next_steps.py``."""

BY_CODE = {
    'image_exists': 'Choose another name.',
    'image_is_public': 'Ask the operator to change the image.',
    'no_disk': 'Choose a server that was created from an image.',
    'no_shared_memory': 'Create a server with shared_memory.',
    'no_virtiofs': 'Choose a server on another host, or ask the operator to install virtiofsd.',
    'not_offered': 'Leave this call out: the service does not have it.',
    'server_has_shares': 'Detach the shares of the server first.',
    'share_attachment_exists': 'Use the existing attachment.',
    'share_tag_in_use': 'Choose another tag.',
    'share_protocol_not_supported': 'Choose a share of another protocol.',
    'too_many_attachments': 'Detach a share first.',
    'address_in_use': 'Choose another address, or leave it out.',
    'no_free_address': 'Choose another network.',
    'network_ambiguous': 'Name one network in networks.',
}

FOR_ADMINISTRATORS = {
    'image_is_public': 'Change the file in the directory of the option [compute] images.',
    'no_valid_host': 'Start the agent on a host for servers, and send the request again.',
    'no_virtiofs': 'Choose a server on another host, or install virtiofsd on this one.',
}
