// Does nothing. What an empty command costs is measured with it.

int main() { return 0; }
