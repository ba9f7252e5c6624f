/**
 * Files of the holder of one home. Also the failures of a connection to it.
 */
import { createHash } from "node:crypto"
import { join } from "node:path"
import { Data } from "effect"

// Failures of the connection to a holder.

/** The holder cannot be started or reached, or refused a request. */
export class HolderFailed extends Data.TaggedError("HolderFailed")<{
  readonly message: string
  /** Code of the operating system. */
  readonly code?: string | undefined
}> {}

/** A holder of another format has runs of this home. */
export class HolderIncompatible extends Data.TaggedError("HolderIncompatible")<{
  readonly holderFormat: number
  readonly edgeFormat: number
  /** Version of the Edge that started the holder. */
  readonly holderBuild: string
  readonly holderPid: number
}> {
  override get message(): string {
    return `The runs of this home are held in format ${this.holderFormat} by version ${this.holderBuild}, and this version has format ${this.edgeFormat}.`
  }
}

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
