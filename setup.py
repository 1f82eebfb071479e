# SPDX-License-Identifier: Apache-2.0
"""Build with pbr. Everything about the package is in setup.cfg."""

import configparser
import os
import pathlib

import setuptools

# pbr would ask git for the version. A checkout without tags and an exported tree give the same one this way.
_cfg = configparser.ConfigParser()
_cfg.read(pathlib.Path(__file__).resolve().parent / 'setup.cfg')
os.environ.setdefault('PBR_VERSION', _cfg['metadata']['version'])

setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True)
