/** Paths of this user and of the system that the probe's program asks about: it opens and changes none of them for writing. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { type HostPaths, fileIdentity } from "./RightsAttempts.ts"

/** Names in a home that hold secrets or what a user wrote. */
const PRIVATE = [
  ".aws",
  ".azure",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".condarc",
  ".config/pip/pip.conf",
  ".dotnet/corefx",
  ".gem/credentials",
  ".local/share/gem/credentials",
  ".local/share/uv/credentials",
  ".m2/settings.xml",
  ".pip/pip.conf",
  ".bash_history",
  ".bashrc",
  ".config/gcloud",
  ".config/gh",
  ".docker",
  ".git-credentials",
  ".gnupg",
  ".kube",
  ".local/share/keyrings",
  ".mozilla",
  ".netrc",
  ".npmrc",
  ".profile",
  ".pypirc",
  ".ssh",
  ".zsh_history",
  ".zshrc",
  "Desktop",
  "Documents",
  "Downloads"
]

/** Files and folders of the system that a superuser could write. */
const SYSTEM = ["/etc", "/etc/hosts", "/etc/passwd", "/usr", "/usr/bin", "/usr/local/bin"]

/** Those that exist. An attempt without one would hold everywhere. */
const existing = (paths: Readonly<Record<string, ReadonlyArray<string>>>): HostPaths =>
  Object.fromEntries(
    Object.entries(paths).flatMap(([name, each]) => {
      const found = each.flatMap((path) => {
        const id = fileIdentity(path)
        return id === undefined ? [] : [{ path, id }]
      })
      return found.length === 0 ? [] : [[name, found] as const]
    })
  )

const filesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [join(folder, entry.name)] : []
    )
  } catch {
    return []
  }
}

/** Paths that no run reads, by attempt. */
export const unreadPaths = (home: string, edgeHome: string): HostPaths =>
  existing({
    ...Object.fromEntries(PRIVATE.map((name) => [`~/${name}`, [join(home, name)]])),
    "files of the Edge": filesIn(edgeHome),
    "passwords of the system": ["/etc/shadow"]
  })

/** Paths that no run writes, by attempt. */
export const unwrittenPaths = (home: string, edgeHome: string): HostPaths =>
  existing({
    "the home": [home, ...PRIVATE.map((name) => join(home, name))],
    "the Edge's home": [edgeHome, ...filesIn(edgeHome)],
    "the system": SYSTEM,
    "the root": ["/"]
  })
