/**
 * Exit of a process after its readers have read all output. `process.exit` alone drops the output that a slow pipe has not read yet.
 *
 * Does not wait for a reader that has closed the pipe. Waits up to `withinMs` for a reader that neither reads nor closes. Without
 * `withinMs` the wait has no limit.
 */
export const exitWhenWritten = (code: number, withinMs?: number): void => {
  const exit = (): void => process.exit(code)
  const unwritten = [process.stdout, process.stderr].filter(
    ({ destroyed, errored, writableLength }) => !destroyed && errored === null && writableLength > 0
  )
  if (unwritten.length === 0) return exit()
  if (withinMs !== undefined) setTimeout(exit, withinMs)
  let left = unwritten.length
  // Called after everything before it was written, or failed to be.
  for (const stream of unwritten) stream.write("", () => --left === 0 && exit())
}
