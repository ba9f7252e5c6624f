/**
 * Resources that a client may read: files and folders of the connection's workspaces, and both versions of changed files.
 *
 * Guarantees: nothing else is read. Nothing is written. A path is checked by the service too, which knows its real target.
 */
import { type Failure, NotFound } from "@corral/domain/errors/Failures"
import type { ChangedFileContent } from "@corral/domain/edge-api/ChangeSet"
import type { ChangedFileId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { parseContent, parseFile, parseSession } from "../protocol/Addresses.ts"
import { protocolError, type ProtocolError } from "../protocol/Messages.ts"
import type { HostClient } from "./HostClient.ts"

const outside = protocolError("permissionDenied", "Only files of the linked workspaces can be read.")
const missing = protocolError("notFound", "There is no such resource.")

/** Files of a change set in which a changed one is looked for. */
export const MAX_CHANGED_FILES = 1_000

/** What the service refuses, as the protocol says it. */
export const refusalOf = ({ code, message }: Failure): ProtocolError => {
  switch (code) {
    case "not_found":
    case "changes_unknown":
      return protocolError("notFound", message)
    case "permission_denied":
    case "unauthorized":
    case "workspace_outside_allowlist":
      return protocolError("permissionDenied", message)
    case "schema_validation_failed":
      return protocolError("invalidParams", message)
    case "internal":
      return protocolError("internal", message)
    default:
      return protocolError("conflict", message, { code })
  }
}

const left = { before: "+", after: "-" } as const

/** Lines of one version that the hunks show. Lines that they leave out are marked. */
const contentOfHunks = ({ items }: Pick<ChangedFileContent, "items">, version: "before" | "after"): string =>
  items
    .map(({ lines, newStart, oldStart }, at) => {
      const before = items[at - 1]
      const end = before === undefined ? 1 : before.oldStart + before.oldLines
      const isApart = before === undefined ? Math.min(oldStart, newStart) > 1 : oldStart > end
      const shown = lines.filter((line) => !line.startsWith(left[version]) && !line.startsWith("\\"))
      return `${isApart ? "⋯\n" : ""}${shown.map((line) => `${line.slice(1)}\n`).join("")}`
    })
    .join("")

interface Place {
  readonly workspace: WorkspaceId
  readonly path: string
}

/** The workspace and relative path of a `file:` address. */
const placeOf = (client: HostClient, uri: string): Place | undefined => {
  const path = parseFile(uri)
  if (path === undefined) return undefined
  const found = client.workspaces.find(({ folder }) => path === folder || path.startsWith(`${folder}/`))
  return found === undefined
    ? undefined
    : { workspace: found.id, path: path.slice(found.folder.length + 1).replace(/\/$/, "") }
}

const changedContent = Effect.fnUntraced(function* (client: HostClient, uri: string) {
  const content = parseContent(uri)
  const address = content === undefined ? undefined : parseSession(content.session)
  if (content === undefined || address === undefined) return yield* Effect.fail(missing)
  const session = yield* Effect.mapError(client.backend.session(address.id), refusalOf)
  if (client.place(session) === undefined) return yield* Effect.fail(refusalOf(new NotFound()))
  const { defaultChat: chatId, id: sessionId } = session
  const changes = yield* Effect.mapError(
    client.backend.changes({ sessionId, chatId, limit: MAX_CHANGED_FILES }),
    refusalOf
  )
  const file = changes.files.find(({ id }) => id === content.file)
  if (file === undefined) return yield* Effect.fail(missing)
  if (file.binary) return yield* Effect.fail(protocolError("notFound", "The file is not text."))
  const hunks = yield* Effect.mapError(
    client.backend.changedFile(changes.set.runId, content.file as ChangedFileId), // the id of a file of the set
    refusalOf
  )
  return { data: contentOfHunks(hunks, content.side), encoding: "utf-8" as const, contentType: "text/plain" }
})

export const readResource = Effect.fnUntraced(function* (
  client: HostClient,
  uri: string,
  encoding: "utf-8" | "base64" | undefined
) {
  if (uri.startsWith("corral-change:")) {
    const content = yield* changedContent(client, uri)
    return encoding === "base64"
      ? { ...content, data: Buffer.from(content.data).toString("base64"), encoding }
      : content
  }
  const place = placeOf(client, uri)
  if (place === undefined) return yield* Effect.fail(outside)
  const file = yield* Effect.mapError(client.backend.readFile(place.workspace, place.path), refusalOf)
  if (file.truncated === true)
    return yield* Effect.fail(protocolError("conflict", "The file is larger than 1 MiB."))
  const isText = file.encoding === "utf8"
  const wantsText = isText && encoding !== "base64"
  return {
    data: wantsText || !isText ? file.content : Buffer.from(file.content).toString("base64"),
    encoding: wantsText ? "utf-8" : "base64",
    contentType: file.mediaType
  }
})

const kindOf = (kind: string): "file" | "directory" => (kind === "directory" ? "directory" : "file")

export const listResource = Effect.fnUntraced(function* (client: HostClient, uri: string) {
  const place = placeOf(client, uri)
  if (place === undefined) return yield* Effect.fail(outside)
  const { items } = yield* Effect.mapError(client.backend.listFolder(place.workspace, place.path), refusalOf)
  return { entries: items.map(({ kind, name }) => ({ name, type: kindOf(kind) })) }
})

export const resolveResource = Effect.fnUntraced(function* (client: HostClient, uri: string) {
  if (parseContent(uri) !== undefined) return { uri, type: "file" as const }
  const place = placeOf(client, uri)
  if (place === undefined) return yield* Effect.fail(outside)
  if (place.path === "") return { uri, type: "directory" as const }
  const parent = place.path.slice(0, Math.max(0, place.path.lastIndexOf("/")))
  const { items } = yield* Effect.mapError(client.backend.listFolder(place.workspace, parent), refusalOf)
  const found = items.find(({ path }) => path === place.path)
  if (found === undefined) return yield* Effect.fail(missing)
  return {
    uri,
    type: kindOf(found.kind),
    ...(found.size === undefined ? {} : { size: found.size }),
    ...(found.modifiedAt === undefined ? {} : { mtime: found.modifiedAt })
  }
})
