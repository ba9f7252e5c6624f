/**
 * Files of a workspace for readers: pages of a folder, and previews of a file. Files of version control, and files that exist to hold
 * credentials, are never served.
 *
 * Guarantees: nothing outside the workspace's real root is read. A path is checked by its text, by the target of its links, and again by the
 * opened file, so a link that changes in between has no effect.
 * The rule for files that are never served applies to the real path, regardless of case and links. It reads names, and detects a git directory by its
 * entries.
 * Does not: keep two pages of a changing folder consistent, or redact the output of agents.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import {
  existsSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats
} from "node:fs"
import { join, sep, basename, extname, relative } from "node:path"
import { NotFound, PermissionDenied, WorkspaceOutsideAllowlist } from "@corral/domain/errors/Failures"
import type { FileEntry, FilePreview } from "@corral/domain/device/Workspace"
import { Effect, type Scope } from "effect"
import { isLexicallyInside, isWithin, pathBytes, pathText } from "./PathText.ts"

const listed = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Folders whose files are never served: of version control, and of programs that store their sign-in there. */
const folders = listed(`
  .age .aws .azure .bzr .corral .docker .fly .git .gnupg .hg .jj .kube .oci .password-store .pulumi .snowsql .ssh .svn .terraform.d
  .twilio-cli`)

/** The same for files and folders whose names have this meaning in one folder only. */
const paths = listed(`
  .bundle/config .circleci/cli.yml .config/doctl .config/gcloud .config/gh .config/github-copilot .config/glab-cli .config/hub
  .config/rclone .dbt/profiles.yml .gradle/gradle.properties .m2/settings-security.xml .m2/settings.xml .travis/config.yml`)

const names = listed(`
  .boto .credentials.json .curlrc .databrickscfg .dev.vars .dockercfg .flaskenv .ftpconfig .git-credentials .hgrc .htpasswd .my.cnf
  .mylogin.cnf .netrc .npmrc .pg_service.conf .pgpass .pypirc .s3cfg .sentryclirc .terraformrc .vault-token .wgetrc .yarnrc .yarnrc.yml
  _netrc ahp.token application_default_credentials.json auth.json edge.token id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_rsa kubeconfig
  oauth_creds.json pip.conf pip.ini rclone.conf sftp-config.json terraform.rc wallet.dat`)

/** Maximum length of a name on common file systems. */
const LONGEST_NAME = 255
/** `.env` and its variants, except published templates, which hold no secret. */
const environment = capped(
  LONGEST_NAME,
  /^\.env(?:\.(?!(?:example|sample|template|dist|defaults)$).+)?$|^\.envrc$|^(?!(?:example|sample|template|dist|defaults)\.).+\.env$/
)
const secrets =
  /^\.?(?:secrets?|credentials?|client_secrets?|service[-_]account|vault_pass(?:word)?)(?:\.(?:db|ini|json|toml|txt|ya?ml))?$/
const types =
  /\.(?:asc|jks|kdbx|key|keystore|kubeconfig|p12|pem|pfx|ppk|tfstate|tfvars)$|^\.(?:\w{2,20}_)?history$/
/** Endings of copies that editors and people make. */
const copyEnding = /(?:~|\.(?:backup|bak|old|orig|save))$/

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
  const name = (folded.pop() ?? "").replace(copyEnding, "")
  folded.push(name)
  if (folded.some((segment, i) => folders.has(segment) || paths.has(`${folded[i - 1]}/${segment}`)))
    return true
  if (isFile && (names.has(name) || [environment, secrets, types].some((pattern) => pattern.test(name))))
    return true
  const parents = segments.map((_, i) => join(root, ...segments.slice(0, i + 1)))
  return [root, ...parents].some(isGitDirectory)
}

export type FileFailure = WorkspaceOutsideAllowlist | PermissionDenied | NotFound

const WITHHELD = "Files of git and files that hold credentials are not shown."

const PREVIEW_BYTES = 1_048_576
const descriptors = "/proc/self/fd"
const hasDescriptors = existsSync(descriptors)

/** The real path. A link to a name that is not UTF-8 is not followed. */
const realName = (root: string, path: string): string => {
  const real = realpathSync.native(Buffer.concat([Buffer.from(`${root}/`), pathBytes(path)]), {
    encoding: "buffer"
  })
  return pathText(real)
}

export interface Opened {
  readonly descriptor: number
  /** The real path. */
  readonly path: string
  readonly stats: Stats
}

/** Opens a workspace-relative path; the empty path is the root. The file closes with the scope. */
export const openInside = (root: string, path: string): Effect.Effect<Opened, FileFailure, Scope.Scope> =>
  Effect.gen(function* () {
    if (path !== "" && !isLexicallyInside(path)) return yield* new WorkspaceOutsideAllowlist()
    const real = yield* Effect.try({ try: () => realName(root, path), catch: () => new NotFound() })
    if (!isWithin(root, real)) return yield* new WorkspaceOutsideAllowlist()
    const descriptor = yield* Effect.acquireRelease(
      Effect.try({
        // Refuses a link that appeared since the check, and never waits for the other end of a pipe.
        try: () =>
          openSync(pathBytes(real), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
        catch: () => new NotFound()
      }),
      (descriptor) => Effect.sync(() => closeSync(descriptor))
    )
    const opened = pathText(
      hasDescriptors
        ? readlinkSync(join(descriptors, String(descriptor)), { encoding: "buffer" })
        : realpathSync.native(pathBytes(real), { encoding: "buffer" })
    )
    if (!isWithin(root, opened)) return yield* new WorkspaceOutsideAllowlist()
    const stats = fstatSync(descriptor)
    if (holdsCredentials(root, relative(root, opened), stats.isFile()))
      return yield* new PermissionDenied({ message: WITHHELD })
    return { descriptor, path: opened, stats }
  })

/** Opens a name in an open folder, and closes that. Follows no link. */
const openNext = (folder: number, name: string, flags: number): number => {
  try {
    const path = Buffer.concat([Buffer.from(`${descriptors}/${folder}/`), pathBytes(name)])
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | flags)
  } finally {
    closeSync(folder)
  }
}

/**
 * The same for a folder that is seen through another mount namespace, as that of a layer. There, a link would lead to a place of this machine, so
 * none is followed: each folder of the path is opened from the one before. Linux only.
 */
export const openInView = (root: string, path: string): Effect.Effect<Opened, FileFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const names = path.split("/").filter((name) => name !== "" && name !== ".")
    if (path !== "" && (!isLexicallyInside(path) || names.includes("..")))
      return yield* new WorkspaceOutsideAllowlist()
    const descriptor = yield* Effect.acquireRelease(
      Effect.try({
        try: () => {
          const top = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY)
          return names.reduce(
            (folder, name, at) =>
              openNext(folder, name, at === names.length - 1 ? constants.O_NONBLOCK : constants.O_DIRECTORY),
            top
          )
        },
        catch: (cause) =>
          (cause as NodeJS.ErrnoException).code === "ELOOP" ? new WorkspaceOutsideAllowlist() : new NotFound()
      }),
      (descriptor) => Effect.sync(() => closeSync(descriptor))
    )
    const stats = fstatSync(descriptor)
    const relativePath = names.join("/")
    if (holdsCredentials(root, relativePath, stats.isFile()))
      return yield* new PermissionDenied({ message: WITHHELD })
    return { descriptor, path: names.length === 0 ? root : `${root}/${relativePath}`, stats }
  })

const kindOf = (stats: Stats): FileEntry["kind"] =>
  stats.isFile() ? "file" : stats.isDirectory() ? "directory" : stats.isSymbolicLink() ? "symlink" : "other"

const entryOf = (folder: Buffer, relative: string, name: string): FileEntry | undefined => {
  const stats = lstatSync(Buffer.concat([folder, pathBytes(`/${name}`)]), { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  const kind = kindOf(stats)
  return {
    path: relative === "" ? name : `${relative}/${name}`,
    name,
    kind,
    ...(kind === "file" ? { size: stats.size } : {}),
    modifiedAt: stats.mtime.toISOString()
  }
}

/** Up to `limit` entries of a folder after `after`, ordered by name. */
export const listFolder = (
  root: string,
  path: string,
  after: string | undefined,
  limit: number
): Effect.Effect<ReadonlyArray<FileEntry>, FileFailure> =>
  openInside(root, path).pipe(
    Effect.flatMap(({ descriptor, path: real, stats }) => {
      if (!stats.isDirectory()) return Effect.fail(new NotFound())
      // Read through the descriptor of the checked folder, even if its name now leads elsewhere.
      const folder = hasDescriptors ? Buffer.from(join(descriptors, String(descriptor))) : pathBytes(real)
      const names = readdirSync(folder, { encoding: "buffer" })
        .map(pathText)
        .filter((name) => after === undefined || name > after)
        .sort()
      const relative = path
        .split("/")
        .filter((segment) => segment !== "" && segment !== ".")
        .join("/")
      const entries: Array<FileEntry> = []
      for (const name of names) {
        if (entries.length === limit) break
        const entry = entryOf(folder, relative, name)
        if (entry !== undefined) entries.push(entry)
      }
      return Effect.succeed(entries)
    }),
    Effect.scoped
  )

const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".js": "text/javascript",
  ".json": "application/json",
  ".md": "text/markdown",
  ".mjs": "text/javascript",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".xml": "application/xml"
}

/** Text of UTF-8 bytes; `undefined` for other bytes. A character that is cut off at the end is left out. */
const textOf = (bytes: Buffer): string | undefined => {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true })
  } catch {
    return undefined
  }
}

const readStart = (descriptor: number, size: number): Buffer => {
  const bytes = Buffer.alloc(Math.min(size, PREVIEW_BYTES))
  let at = 0
  while (at < bytes.length) {
    const read = readSync(descriptor, bytes, at, bytes.length - at, at)
    if (read === 0) break
    at += read
  }
  return bytes.subarray(0, at)
}

/** Media type by the end of the name, else by whether there is a text. */
const mediaTypeOf = (path: string, text: string | undefined): string =>
  mediaTypes[extname(basename(path)).toLowerCase()] ??
  (text === undefined ? "application/octet-stream" : "text/plain")

/** Media type of a file. `content`: its bytes, of which the first 1 MiB is read. */
export const fileMediaType = (path: string, content: Buffer): string =>
  mediaTypeOf(path, textOf(content.subarray(0, PREVIEW_BYTES)))

/** The first 1 MiB of a file. */
export const previewFile = (root: string, path: string): Effect.Effect<FilePreview, FileFailure> =>
  openInside(root, path).pipe(
    Effect.flatMap(({ descriptor, stats }): Effect.Effect<FilePreview, NotFound> => {
      if (!stats.isFile()) return Effect.fail(new NotFound())
      const bytes = readStart(descriptor, stats.size)
      const text = textOf(bytes)
      return Effect.succeed({
        path,
        mediaType: mediaTypeOf(path, text),
        size: stats.size,
        encoding: text === undefined ? "base64" : "utf8",
        content: text ?? bytes.toString("base64"),
        ...(stats.size > bytes.length ? { truncated: true as const } : {})
      })
    }),
    Effect.scoped
  )
