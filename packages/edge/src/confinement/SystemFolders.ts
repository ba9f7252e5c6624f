/**
 * Folders of the operating system that a confined run reads: programs, libraries and settings.
 *
 * Guarantees: an Edge that runs as root shows runs only what other users can read of `/etc`.
 *
 * Does not: show `/run`, `/var`, `/sys` and `/home`, which hold sockets, data and other users' files.
 */
import { readdirSync, readlinkSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { statOf } from "../workspace/UntrustedFiles.ts"
import { isWithin } from "../workspace/PathText.ts"
import type { Mount } from "./Mount.ts"

const FOLDERS = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/etc",
  "/opt",
  "/snap",
  "/nix/store",
  "/gnu/store",
  "/home/linuxbrew/.linuxbrew",
  "/run/current-system"
]

/** Larger trees than any system has. */
const MAX_ENTRIES = 50_000

const folderMount = (path: string): ReadonlyArray<Mount> => {
  const stat = statOf(path)
  if (stat?.isSymbolicLink() === true) return [{ kind: "link", path, target: readlinkSync(path) }]
  return stat?.isDirectory() === true ? [{ kind: "read", path }] : []
}

/** Entries below a folder that other users cannot read. */
const privateEntries = (folder: string): ReadonlyArray<Mount> => {
  const found: Array<Mount> = []
  const folders = [folder]
  let entries = 0
  for (const each of folders) {
    for (const { name } of readdirSync(each, { withFileTypes: true })) {
      if (++entries > MAX_ENTRIES) return [{ kind: "hidden", path: folder }]
      const path = join(each, name)
      const stat = statOf(path)
      if (stat === undefined || stat.isSymbolicLink()) continue
      if (stat.isDirectory()) {
        if ((stat.mode & 0o005) === 0o005) folders.push(path)
        else found.push({ kind: "hidden", path })
      } else if ((stat.mode & 0o004) === 0) found.push({ kind: "hidden_file", path })
    }
  }
  return found
}

/** The file with the name servers, if a link in `/etc` leads elsewhere. */
const nameServers = (): ReadonlyArray<Mount> => {
  try {
    const path = realpathSync("/etc/resolv.conf")
    return FOLDERS.some((folder) => isWithin(folder, path)) ? [] : [{ kind: "read", path }]
  } catch {
    return []
  }
}

/** Files of the kernel with keyrings of the user, which no namespace limits. */
const KEYRINGS = ["/proc/keys", "/proc/key-users"]

/** Mounts of this machine. `isRoot`: whether the Edge's user can read everything. */
export const systemMounts = (isRoot: boolean): ReadonlyArray<Mount> => [
  ...FOLDERS.flatMap(folderMount),
  ...nameServers(),
  ...KEYRINGS.filter((path) => statOf(path) !== undefined).map(
    (path) => ({ kind: "hidden_file", path }) as const
  ),
  ...(isRoot ? privateEntries("/etc") : [])
]
