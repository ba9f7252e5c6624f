/** Attempts to reach the machine through folders that the program sees: by sockets, pipes, and what is next to programs. */
import * as fs from "node:fs"
import { type Attempts, expectTrue } from "./Attempts.ts"
import { reached } from "./NetworkAttempts.ts"

/** By attempt, a path. A program of this machine listens at each socket, and reads each pipe. */
export interface VisiblePlaces {
  readonly sockets: Readonly<Record<string, string>>
  readonly pipes: Readonly<Record<string, string>>
  /** Files next to programs and toolchains, which are not part of them. */
  readonly files: Readonly<Record<string, string>>
}

const attempts = (places: Readonly<Record<string, string>>, attempt: (path: string) => unknown): Attempts =>
  Object.fromEntries(Object.entries(places).map(([name, path]) => [name, () => attempt(path)]))

const { O_NONBLOCK, O_WRONLY } = fs.constants

export const visibleAttempts = ({ files, pipes, sockets }: VisiblePlaces): Attempts => ({
  ...attempts(sockets, (path) => reached({ path })),
  ...attempts(pipes, (path) => {
    const fd = fs.openSync(path, O_WRONLY | O_NONBLOCK)
    fs.writeSync(fd, "x")
    fs.closeSync(fd)
  }),
  ...attempts(files, (path) => expectTrue(fs.readFileSync(path, "utf8") !== ""))
})
