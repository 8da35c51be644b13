"""What all tests share: a JVM that starts with half the work, and texts that stay on this machine."""

import os

# Tests run many short jobs: the first compiler tier and the plain collector halve the JVM's CPU time.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
