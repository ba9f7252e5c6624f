/**
 * Command that starts bubblewrap with the filter of system calls. bubblewrap reads it from a descriptor, which a shell opens before it becomes
 * bubblewrap, so that every way to start a program can use it.
 *
 * Guarantees: without the filter, nothing starts.
 */
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { callFilter } from "./CallFilter.ts"

/** Above the descriptors of the bridge and of a launcher. bubblewrap closes it. */
const DESCRIPTOR = "9"
const FILE = "calls.bpf"

/** The shell. */
export const FILTER_SHELL = "/bin/sh"

/** Writes the filter of this machine into a folder that no run writes. Gives its path. Fails with a phrase. */
export const openCallFilter = (folder: string): Effect.Effect<string, string> =>
  Effect.suspend(() => {
    const filter = callFilter(process.arch)
    if (filter === undefined) return Effect.fail(`there is no filter of system calls for ${process.arch}`)
    const path = join(folder, FILE)
    return Effect.try({ try: () => writeFileSync(path, filter, { mode: 0o600 }), catch: String }).pipe(
      Effect.as(path)
    )
  })

/** The command. `filter`: path of the filter. `args`: those of bubblewrap. */
export const filteredCommand = (
  program: string,
  filter: string,
  args: ReadonlyArray<string>
): { readonly file: string; readonly args: ReadonlyArray<string> } => ({
  file: FILTER_SHELL,
  args: ["-c", `exec "$@" ${DESCRIPTOR}<"$0"`, filter, program, "--seccomp", DESCRIPTOR, ...args]
})
