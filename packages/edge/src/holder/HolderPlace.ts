/**
 * Files by which Edges find the holder of one home: its folder, its socket and its key.
 *
 * Another program may remove or damage the files while the holder lives.
 *
 * Guarantees: within a second, what is missing or wrong is made again. Another holder's socket is not replaced: the caller learns of it.
 * Does not: import Effect. The holder loads this module, and starts sooner without it.
 */
import { isOurFolder, keepFolderPrivate } from "../process/PrivateFolder.ts"
import { createHash } from "node:crypto"
import { chmodSync, lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"

/** Maximum length of a socket's path. */
const MAX_SOCKET_PATH = 103

export interface HolderPlace {
  /** Folder of stored output and of the key. */
  readonly folder: string
  readonly socket: string
  /** Folder of the socket. */
  readonly socketFolder: string
}

/**
 * The socket is in the home. If the home's path is too long, it is in a folder of `/tmp` that belongs to this home, regardless of TMPDIR,
 * which may be another for the next Edge.
 */
export const holderPlaceOf = (home: string): HolderPlace => {
  const folder = join(home, "held")
  const name = "holder.sock"
  const short = join("/tmp", `corral-held-${createHash("sha256").update(home).digest("hex").slice(0, 16)}`)
  const socketFolder = Buffer.byteLength(join(folder, name)) <= MAX_SOCKET_PATH ? folder : short
  return { folder, socket: join(socketFolder, name), socketFolder }
}

/** File of the key, which a connection sends first. */
export const holderKeyFile = (folder: string): string => join(folder, "holder.key")

/** Problems that the holder cannot report otherwise. */
export const holderProblemFile = (folder: string): string => join(folder, "holder.log")

/** Milliseconds between two looks. */
const LOOK_EVERY = 1_000

interface HolderFolderOptions {
  readonly place: HolderPlace
  readonly key: Buffer
  /** Called for each connection. */
  readonly onConnection: (connection: Socket) => void
  /** Another holder listens at the place. No Edge finds this one again. */
  readonly onReplaced: () => void
  /** Records what was repaired. */
  readonly report: (problem: string) => void
}

const inodeOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.ino

const contentOf = (file: string): Buffer | undefined => {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

/** Files by which Edges find a holder: its folder, its socket and its key. */
export class HolderFolder {
  readonly #options: HolderFolderOptions
  #server: Server
  /** `undefined` until the server listens. */
  #inode: number | undefined
  readonly #looks: NodeJS.Timeout

  /** `server` listens at the place. */
  constructor(server: Server, options: HolderFolderOptions) {
    this.#options = options
    this.#server = server
    this.#inode = inodeOf(options.place.socket)
    this.#looks = setInterval(() => this.#look(), LOOK_EVERY).unref()
  }

  /** No further connection is accepted. */
  close(): void {
    clearInterval(this.#looks)
    // A server that is closed removes what has the name of its socket.
    if (inodeOf(this.#options.place.socket) === this.#inode) this.#server.close()
  }

  #look(): void {
    const { onReplaced, place, report } = this.#options
    try {
      const inode = inodeOf(place.socket)
      if (this.#inode === undefined) return
      if (inode !== undefined && inode !== this.#inode) {
        report("another holder has the socket: ends its runs")
        clearInterval(this.#looks)
        return onReplaced()
      }
      this.#repairFolders()
      this.#repairKey()
      if (inode === undefined) this.#listenAgain()
    } catch (error) {
      report(`failed to repair the folder of held runs: ${String(error)}`)
    }
  }

  #repairFolders(): void {
    const { folder, socketFolder } = this.#options.place
    for (const each of new Set([folder, socketFolder])) {
      if (isOurFolder(each)) continue
      keepFolderPrivate(each)
      this.#options.report("made the folder of held runs again, which was removed")
    }
  }

  #repairKey(): void {
    const { key, place, report } = this.#options
    const file = holderKeyFile(place.folder)
    if (contentOf(file)?.equals(key) === true) return
    rmSync(file, { recursive: true, force: true })
    writeFileSync(file, key, { mode: 0o600, flag: "wx" })
    report("wrote the key of the holder again, which was missing or damaged")
  }

  #listenAgain(): void {
    const { onConnection, place, report } = this.#options
    this.#inode = undefined
    const server = createServer(onConnection)
    server.once("error", ({ message }) => {
      report(`failed to listen again: ${message}`)
      this.#inode = Number.NaN
    })
    server.listen(place.socket, () => {
      chmodSync(place.socket, 0o600)
      this.#inode = inodeOf(place.socket)
      this.#server = server
      report("listens again, because its socket was removed")
    })
  }
}
