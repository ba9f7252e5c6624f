/** Processor time of this process during synchronous work, in milliseconds. Other programs of the machine do not count, as they do on a clock. */
export const cpuMillisOf = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}
