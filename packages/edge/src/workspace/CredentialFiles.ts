/**
 * Files of a workspace that are never served: git's own files, and files that exist to hold credentials.
 *
 * Guarantees: the rule applies to the real path, regardless of case and links. It reads names, and detects a git directory by its entries.
 *
 * Does not: read the content of files, or redact the output of agents.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { existsSync } from "node:fs"
import { join, sep } from "node:path"

/** Folders whose files are never served. */
const folders: ReadonlySet<string> = new Set([".aws", ".azure", ".docker", ".git", ".gnupg", ".kube", ".ssh"])

const names: ReadonlySet<string> = new Set([
  ".boto",
  ".dockercfg",
  ".git-credentials",
  ".htpasswd",
  ".my.cnf",
  ".netrc",
  ".npmrc",
  ".pgpass",
  ".pypirc",
  ".s3cfg",
  ".terraformrc",
  ".yarnrc",
  ".yarnrc.yml",
  "_netrc",
  "auth.json",
  "credentials",
  "credentials.json",
  "credentials.toml",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  "id_rsa"
])

/** Maximum length of a name on common file systems. */
const LONGEST_NAME = 255
/** `.env` and its variants, except published templates, which hold no secret. */
const environment = capped(
  LONGEST_NAME,
  /^\.env(?:\.(?!(?:example|sample|template|dist|defaults)$).+)?$|^\.envrc$/
)
const keys = /\.(?:key|p12|pfx|jks|keystore|kdbx|ppk)$/

/** Entries of a git directory: a bare repository, one of `--separate-git-dir`, or the folder of a worktree or submodule. */
const isGitDirectory = (path: string): boolean =>
  existsSync(join(path, "HEAD")) &&
  (existsSync(join(path, "commondir")) ||
    (existsSync(join(path, "objects")) && existsSync(join(path, "refs"))))

/** Whether a real path, relative to the real root, is such a file. */
export const holdsCredentials = (root: string, relativePath: string, isFile: boolean): boolean => {
  const segments = relativePath.split(sep).filter((segment) => segment !== "")
  // Some Unicode letters have an ASCII lower case, and some file systems treat them as the same letter.
  const folded = segments.map((segment) => segment.normalize("NFKC").toLowerCase())
  if (folded.some((segment) => folders.has(segment))) return true
  const name = folded.at(-1) ?? ""
  if (isFile && (names.has(name) || environment.test(name) || keys.test(name))) return true
  const parents = segments.map((_, i) => join(root, ...segments.slice(0, i + 1)))
  return [root, ...parents].some(isGitDirectory)
}
