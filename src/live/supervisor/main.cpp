// trainyard-supervisor: stays beside one run of a job, and keeps it and its exit status while the
// daemon restarts.
int main() {
  return 0;
}
