"""What is installed: releases, constraints and the asv environments that hold one row each."""
