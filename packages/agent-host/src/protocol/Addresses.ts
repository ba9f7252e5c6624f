/**
 * Addresses of channels and resources: sessions, chats, changesets, and files of workspaces.
 *
 * Guarantees: an address and what it names belong together for good. A session has the address `<provider>:/<uuid>`, whose UUID is the session's id in
 * other digits: the client chooses it before the session exists. `ahp-session:/<uuid>` and the session's own id are accepted too.
 * Does not: look anything up, or decide who may read.
 */
import type { SessionId } from "@corral/domain/identity/Ids"
import { Base64Url } from "effect/encoding"

export const ROOT = "ahp-root://"
const SESSION_SCHEME = "ahp-session"
const CHAT_SCHEME = "ahp-chat"
/** Authority of the chat with the session's first agent. VS Code expects it. */
const FIRST_CHAT = "default"
const CHANGESET = "/changeset/session"
/** VS Code asks for the changes of a branch where it does not find those of a turn. */
const changesetShape = /^(.+)\/changeset\/(?:session|branch)$/
const CHANGED_FILE_SCHEME = "corral-change"

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const ID_LENGTH = 26
const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const idShape = /^ses_[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const addressShape = /^([a-z][a-z0-9+.-]{0,63}):\/([A-Za-z0-9_-]{1,64})$/

/** The 128 bits of a ULID as a UUID. */
const uuidOf = (id: SessionId): string => {
  let value = 0n
  for (const digit of id.slice("ses_".length)) value = value * 32n + BigInt(DIGITS.indexOf(digit))
  const hex = value.toString(16).padStart(32, "0")
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")
}

const idOfUuid = (uuid: string): SessionId => {
  let value = BigInt(`0x${uuid.replaceAll("-", "")}`)
  let id = ""
  for (let digit = 0; digit < ID_LENGTH; digit++) {
    id = DIGITS.charAt(Number(value % 32n)) + id
    value /= 32n
  }
  return `ses_${id}` as SessionId // 26 digits, of which the first has three bits
}

/** A session as an address names it. Without a provider, the address is `ahp-session:`. */
export interface SessionAddress {
  readonly id: SessionId
  readonly provider: string | undefined
}

export const parseSession = (address: string): SessionAddress | undefined => {
  const [, scheme, name] = addressShape.exec(address.slice(0, 256)) ?? []
  if (scheme === undefined || name === undefined || address.length > 256) return undefined
  const provider = scheme === SESSION_SCHEME ? undefined : scheme
  if (idShape.test(name)) return { id: name as SessionId, provider } // has the shape
  const uuid = name.toLowerCase()
  return uuidShape.test(uuid) ? { id: idOfUuid(uuid), provider } : undefined
}

export const sessionAddress = (provider: string, id: SessionId): string => `${provider}:/${uuidOf(id)}`

/** A scheme for an agent's id. Ids that fit are unchanged. */
export const providerOf = (agentId: string): string => {
  const name = agentId.toLowerCase().replaceAll(/[^a-z0-9+.-]/g, "-")
  return /^[a-z]/.test(name) ? name : `agent-${name}`
}

/** Address of a chat. Without an id, of the chat with the session's first agent. Ids are not case-sensitive in addresses. */
export const chatAddress = (session: string, chatId?: string): string =>
  `${CHAT_SCHEME}://${chatId === undefined ? FIRST_CHAT : chatId.toLowerCase()}/${Base64Url.encode(session)}`

export interface ChatAddress {
  readonly session: string
  /** `undefined`: the chat with the first agent. */
  readonly chatId: string | undefined
}

/** Address of a session that another address contains. */
const decodedSession = (encoded: string | undefined): string | undefined => {
  const session = encoded === undefined ? undefined : Base64Url.decodeString(encoded)
  return session === undefined || session._tag === "Failure" ? undefined : session.success
}

const chatShape = /^ahp-chat:\/\/([A-Za-z0-9_-]{1,64})\/([A-Za-z0-9_-]{1,512})$/

export const parseChat = (address: string): ChatAddress | undefined => {
  const [, chatId, encoded] = chatShape.exec(address.slice(0, 1_024)) ?? []
  const session = decodedSession(encoded)
  if (chatId === undefined || session === undefined) return undefined
  return { session, chatId: chatId === FIRST_CHAT ? undefined : chatId.toLowerCase() }
}

/** Authority of the chats of sub-agents. VS Code expects it. */
const NESTED = "subagent"
const nestedChatShape = /^ahp-chat:\/\/subagent\/([A-Za-z0-9_-]{1,512})\/([^/?#]{1,1024})$/

/** Address of the chat of the sub-agent that a call has started. */
export const nestedChatAddress = (session: string, toolCallId: string): string =>
  `${CHAT_SCHEME}://${NESTED}/${Base64Url.encode(session)}/${encodeURIComponent(toolCallId)}`

/** Address of the session of such a chat. */
export const parseNestedChat = (address: string): string | undefined => {
  const [, encoded] = nestedChatShape.exec(address.slice(0, 2_048)) ?? []
  return decodedSession(encoded)
}

/** The undecided changes of a session. */
export const changesetAddress = (session: string): string => `${session}${CHANGESET}`

/** Address of the session of a changeset. */
export const parseChangeset = (address: string): string | undefined =>
  changesetShape.exec(address.slice(0, 1_024))?.[1]

/** Content of a changed file, before or after the change. */
export interface ChangedContent {
  readonly session: string
  readonly file: string
  readonly side: "before" | "after"
}

/** The path is for people, and for the client's choice of a language. */
export const contentAddress = ({ file, session, side }: ChangedContent, path: string): string =>
  `${CHANGED_FILE_SCHEME}://${side}/${Base64Url.encode(session)}/${file}/${path.split("/").map(encodeURIComponent).join("/")}`

const contentShape = /^corral-change:\/\/(before|after)\/([A-Za-z0-9_-]{1,512})\/([0-9a-f]{32})(?:\/|$)/

export const parseContent = (address: string): ChangedContent | undefined => {
  const [, side, encoded, file] = contentShape.exec(address.slice(0, 8_192)) ?? []
  const session = decodedSession(encoded)
  if (session === undefined || file === undefined) return undefined
  return { session, file, side: side === "before" ? "before" : "after" }
}

/** Address of a file by its absolute path. */
export const fileAddress = (path: string): string =>
  `file://${path.split("/").map(encodeURIComponent).join("/")}`

/** Decoded path of an address. An encoded slash or dot would be resolved after a check. */
const decodedPath = (pathname: string): string | undefined => {
  try {
    const path = decodeURIComponent(pathname)
    return path.includes("\0") || path.split("/").includes("..") ? undefined : path
  } catch {
    return undefined
  }
}

/** Absolute path of a `file:` address of this machine, with its dots resolved. `undefined` for any other address. */
export const parseFile = (address: string): string | undefined => {
  if (address.length > 8_192 || !URL.canParse(address)) return undefined
  const { hash, hostname, pathname, protocol, search } = new URL(address)
  if (protocol !== "file:" || hostname !== "" || hash !== "" || search !== "") return undefined
  return decodedPath(pathname)
}

/** Schemes of VS Code whose path is that of the file itself, here or at the host. */
const fileSchemes: ReadonlySet<string> = new Set(["file:", "vscode-remote:", "vscode-agent-host:"])

/**
 * Path in the workspace of a file that an editor names: one of the folder that it has open, or one of the session's changes. VS Code wraps the
 * host's addresses: their path stays. `undefined`: no file of the workspace.
 */
export const pathInWorkspace = (address: string, folder: string, id: SessionId): string | undefined => {
  if (address.length > 8_192 || !URL.canParse(address)) return undefined
  const { pathname, protocol } = new URL(address)
  const isChange = protocol === `${CHANGED_FILE_SCHEME}:`
  const path = isChange || fileSchemes.has(protocol) ? decodedPath(pathname) : undefined
  // It is a line of the message.
  if (path === undefined || /\p{Cc}/u.test(path)) return undefined
  if (!isChange && path.replace(/\/$/, "") === folder) return "."
  if (!isChange && path.startsWith(`${folder}/`)) return path.slice(folder.length + 1)
  const content = parseContent(`${CHANGED_FILE_SCHEME}://before${path}`)
  if (content === undefined || parseSession(content.session)?.id !== id) return undefined
  const changed = path.split("/").slice(3).join("/")
  return changed === "" ? undefined : changed
}
