/** Sockets and pipes of the probe in the folders that a run sees, and a folder on PATH with files next to its programs. */
import { Effect, type Scope } from "effect"
import { chmodSync, closeSync, constants, openSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { makeFolder } from "@corral/service/MakeFolder"
import { listening } from "../../network/RunProxy.ts"
import { callProgram } from "../../process/ProgramCall.ts"
import type { VisiblePlaces } from "./NetworkAttempts.ts"

export interface VisibleScene {
  readonly places: VisiblePlaces
  /** The folder for PATH. */
  readonly programs: string
}

const PATH = "/usr/bin:/bin"
/** Longest path of a socket. */
const MAX_SOCKET_PATH = 103

const placesIn = (folder: string, workspace: string) => ({
  "the workspace": workspace,
  "installed packages of the workspace": join(workspace, "node_modules", "a"),
  "the folder around programs on PATH": join(folder, "tools"),
  "libraries of programs on PATH": join(folder, "tools", "lib")
})

const named = (folders: Readonly<Record<string, string>>, what: string, name: string) =>
  Object.fromEntries(
    Object.entries(folders).map(([place, folder]) => [`${what} in ${place}`, join(folder, name)])
  )

const openSocket = (path: string, onArrival: () => void) =>
  path.length > MAX_SOCKET_PATH
    ? Effect.void
    : listening(
        createServer((socket) => {
          onArrival()
          socket.on("error", () => undefined)
          socket.end("reached")
        }),
        path
      )

const openReader = (path: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)),
      (fd) => Effect.sync(() => closeSync(fd))
    )
  )

/** Makes them in the folders of one mode, until the scope closes. */
export const openVisible = Effect.fnUntraced(function* (
  folder: string,
  workspace: string,
  onArrival: () => void
): Effect.fn.Return<VisibleScene, string, Scope.Scope> {
  const folders = placesIn(folder, workspace)
  const programs = join(folder, "tools", "bin")
  for (const each of [...Object.values(folders), programs]) makeFolder(each, 0o755)
  const program = join(programs, "program")
  writeFileSync(program, "#!/bin/sh\n")
  chmodSync(program, 0o755)
  const files = {
    "a file next to programs on PATH": join(programs, "key"),
    "a file around programs on PATH": join(dirname(programs), "config.json")
  }
  for (const file of Object.values(files)) writeFileSync(file, "secret")
  const [sockets, pipes] = [named(folders, "a socket", "s"), named(folders, "a pipe", "p")]
  for (const path of Object.values(sockets)) yield* openSocket(path, onArrival)
  yield* callProgram({ program: "/usr/bin/mkfifo", args: Object.values(pipes), env: { PATH }, cwd: "/" })
  for (const path of Object.values(pipes)) yield* openReader(path)
  return { programs, places: { sockets, pipes, files } }
})
