/**
 * The end of a process, once what it wrote has been taken by its readers. `process.exit` alone drops what a slow pipe has not taken yet.
 *
 * A reader that has left has taken all that it wants. One that neither reads nor leaves is waited for as long as `withinMs` says, and
 * without it until it does, as other programs wait.
 */
export const exitWhenWritten = (code: number, withinMs?: number): void => {
  const exit = (): void => process.exit(code)
  const unwritten = [process.stdout, process.stderr].filter(
    ({ destroyed, errored, writableLength }) => !destroyed && errored === null && writableLength > 0
  )
  if (unwritten.length === 0) return exit()
  if (withinMs !== undefined) setTimeout(exit, withinMs)
  let left = unwritten.length
  // Called after everything before it was written, and also where that failed.
  for (const stream of unwritten) stream.write("", () => --left === 0 && exit())
}
