/**
 * Requests of an initialized client, each with its answer.
 *
 * Guarantees: a session begins at its first turn, not when it is created. One of a folder without a workspace never begins. What the host does not offer
 * is refused: chats of a client's choice, terminals, writes and watches of resources.
 */
import type { SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { firstCharacters } from "@corral/domain/text/Cut"
import { safeText } from "@corral/domain/text/SafeText"
import { Effect, Result } from "effect"
import { chosenMode, type PlacedSession, sessionConfig, sessionSummary } from "./SessionViews.ts"
import {
  parseChangeset,
  parseChat,
  parseFile,
  parseSession,
  parseNestedChat,
  providerOf,
  ROOT
} from "../protocol/Addresses.ts"
import {
  decodeParams,
  isRequestName,
  type ParamsOf,
  protocolError,
  type ProtocolError,
  type RequestName
} from "../protocol/Messages.ts"
import { plain } from "../fold/Lines.ts"
import { ChangesetChannel } from "./ChangesetChannel.ts"
import { ChatChannel } from "./ChatChannel.ts"
import type { HostSession, HostWorkspace } from "./HostBackend.ts"
import { type Channel, type Draft, type HostClient, MAX_CHANNELS } from "./HostClient.ts"
import { listResource, readResource, refusalOf, resolveResource } from "./Resources.ts"
import { SessionChannel } from "./SessionChannel.ts"

type Answer = Effect.Effect<unknown, ProtocolError>

/** Sessions of a list that names no limit. */
const LISTED = 200

const noSession = protocolError("sessionNotFound", "There is no such session.")
const fail = (error: ProtocolError): Answer => Effect.fail(error)

/** State of a channel, and the number after which its actions follow. */
export const snapshotOf = (client: HostClient, channel: Channel) => ({
  resource: channel.address,
  state: channel.snapshot(),
  fromSeq: client.log.seq
})

/** The session of an address: the client's draft, or what the service has. */
const findSession = Effect.fnUntraced(function* (client: HostClient, address: string) {
  const parsed = parseSession(address)
  if (parsed === undefined) return yield* Effect.fail(noSession)
  const draft = client.drafts.get(parsed.id)
  if (draft !== undefined) return draft
  const session = yield* Effect.mapError(client.backend.session(parsed.id), (failure) =>
    failure.code === "not_found" ? noSession : refusalOf(failure)
  )
  if (parsed.provider !== undefined && parsed.provider !== providerOf(session.agentId))
    return yield* Effect.fail(noSession)
  client.nameSession(session.id, address)
  const placed = client.place(session)
  if (placed === undefined) return yield* Effect.fail(noSession)
  return placed
})

const openChat = Effect.fnUntraced(function* (
  client: HostClient,
  placed: PlacedSession,
  chatId: string | undefined
) {
  const { chats } = placed.session
  const chat = chatId === undefined ? chats[0] : chats.find(({ id }) => id.toLowerCase() === chatId)
  if (chat === undefined) return yield* Effect.fail(protocolError("notFound", "There is no such chat."))
  const channel = new ChatChannel(client, placed, chat)
  const draft = client.drafts.get(placed.session.id)
  if (draft === undefined) yield* Effect.mapError(channel.load, refusalOf)
  else if (draft.notice !== undefined) channel.addLineOfNextTurn(plain(draft.notice))
  return channel
})

/** The chat of a sub-agent exists with the chat of its agent, which the client has subscribed to before. */
const findNestedChat = (client: HostClient, address: string, session: string) => {
  const id = parseSession(session)?.id
  for (const channel of client.channels.values()) {
    const found =
      channel instanceof ChatChannel && channel.sessionId === id
        ? channel.nestedChats.get(address)
        : undefined
    if (found !== undefined) return Effect.succeed(found)
  }
  return Effect.fail(protocolError("notFound", "There is no such chat."))
}

/** Opens the channel of an address. */
export const openChannel = Effect.fnUntraced(function* (client: HostClient, address: string) {
  const existing = client.channels.get(address)
  if (existing !== undefined && existing.isGone !== true) return existing
  if (client.channels.size >= MAX_CHANNELS)
    return yield* Effect.fail(protocolError("conflict", "The connection has too many subscriptions."))
  const channel = yield* makeChannel(client, address)
  client.open(channel)
  return channel
})

const makeChannel = Effect.fnUntraced(function* (client: HostClient, address: string) {
  if (address === ROOT) return client
  const chat = parseChat(address)
  if (chat !== undefined)
    return yield* openChat(client, yield* findSession(client, chat.session), chat.chatId)
  const ofNestedChat = parseNestedChat(address)
  if (ofNestedChat !== undefined) return yield* findNestedChat(client, address, ofNestedChat)
  const ofChangeset = parseChangeset(address)
  if (ofChangeset !== undefined) {
    const channel = new ChangesetChannel(client, address, yield* findSession(client, ofChangeset))
    yield* channel.load
    return channel
  }
  return new SessionChannel(client, yield* findSession(client, address))
})

/** Where a new session works. With a refusal it works nowhere, and each of its turns ends with that text: editors do not show why no session was created. */
interface DraftPlace {
  readonly workspace: WorkspaceId
  readonly folder: string
  readonly refusal?: string
  readonly notice?: string
}

/** Folders that a refusal names. */
const MAX_NAMED = 3
/** Longest path that a refusal repeats. */
const MAX_PATH = 256

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

const outside = (
  path: string | undefined,
  workspaces: ReadonlyArray<HostWorkspace>,
  choices: ReadonlyArray<HostWorkspace>
): DraftPlace => {
  const named = path === undefined ? "The folder" : firstCharacters(safeText(path), MAX_PATH)
  const folders = choices.slice(0, MAX_NAMED).map(({ folder }) => folder)
  const advice =
    folders.length === 0 ? "No workspace is available." : `Open ${folders.join(" or ")} in the editor.`
  return {
    workspace: "" as WorkspaceId, // no workspace has it, and no message of the session is sent
    folder: path ?? workspaces[0]?.folder ?? "/",
    refusal: `${named} is not a workspace of this connection. ${advice}`
  }
}

/**
 * The workspace that a client means: the innermost one around the folder, or the only one in it; without a folder, the only one. An editor lists sessions of
 * its folder and of folders in it.
 */
const placeFor = ({ workspaces }: HostClient, directories: ReadonlyArray<string>): DraftPlace => {
  // The root has no slash either.
  const paths = directories.flatMap((each) => parseFile(each)?.replace(/\/$/, "") ?? [])
  const [around] = workspaces
    .filter(({ folder }) => paths.some((path) => isWithin(path, folder)))
    .toSorted((one, other) => other.folder.length - one.folder.length)
  const below =
    directories.length === 0
      ? workspaces
      : workspaces.filter(({ folder }) => paths.some((path) => isWithin(folder, path)))
  const [only, another] = below
  // The editor lists no session of a folder around its own.
  if (around !== undefined && !paths.includes(around.folder))
    return {
      workspace: around.id,
      folder: around.folder,
      notice: `The agent works in ${around.folder}. Open that folder in the editor to see its sessions.`
    }
  const found = around ?? (another === undefined ? only : undefined)
  return found === undefined
    ? outside(paths[0] === "" ? "/" : paths[0], workspaces, only === undefined ? workspaces : below)
    : { workspace: found.id, folder: found.folder }
}

const draftOf = (
  client: HostClient,
  id: SessionId,
  { folder, notice, refusal, workspace }: DraftPlace,
  { channel: address, config, provider }: ParamsOf<"createSession">
): Draft | undefined => {
  const agent = client.agentOf(provider ?? parseSession(address)?.provider)
  if (agent === undefined) return undefined
  const now = client.timeText()
  const mode = chosenMode(agent.modes, config)
  const session: HostSession = {
    id,
    title: "New session",
    workspace,
    agentId: agent.id,
    createdAt: now,
    updatedAt: now,
    archived: false,
    chats: [
      {
        id: "",
        title: agent.label,
        agentId: agent.id,
        activity: "idle",
        updatedAt: now,
        ...(mode === undefined ? {} : { mode })
      }
    ],
    defaultChat: "",
    rights: { maySend: true, mayDecide: client.backend.caller.kind !== "api_key" },
    people: new Map()
  }
  const texts = { ...(refusal === undefined ? {} : { refusal }), ...(notice === undefined ? {} : { notice }) }
  return { session, address, folder, ...texts }
}

const createSession = (client: HostClient, params: ParamsOf<"createSession">): Answer => {
  const { channel, workingDirectories, workingDirectory } = params
  const parsed = parseSession(channel)
  if (parsed === undefined)
    return fail(protocolError("invalidParams", "The address of a session is <provider>:/<uuid>."))
  const directories = workingDirectory === undefined ? (workingDirectories ?? []) : [workingDirectory]
  const draft = draftOf(client, parsed.id, placeFor(client, directories), params)
  if (draft === undefined) return fail(protocolError("providerNotFound", "There is no such agent."))
  const exists = protocolError("sessionExists", "The session exists already.")
  if (client.drafts.has(parsed.id)) return fail(exists)
  return Effect.matchEffect(client.backend.session(parsed.id), {
    onSuccess: () => Effect.fail(exists),
    onFailure: (failure) => {
      if (failure.code !== "not_found") return fail(refusalOf(failure))
      return client.addDraft(draft)
        ? Effect.succeed(null)
        : fail(protocolError("conflict", "Send a message in one of the new sessions first."))
    }
  })
}

const listSessions = (client: HostClient, { cursor, limit = LISTED }: ParamsOf<"listSessions">): Answer =>
  client.backend
    .sessions({ limit: Math.min(limit, LISTED), ...(cursor === undefined ? {} : { cursor }) })
    .pipe(
      Effect.mapError(refusalOf),
      Effect.map(({ items, nextCursor }) => {
        const placed = items.flatMap((session) => client.place(session) ?? [])
        for (const each of placed) client.list(each)
        return { items: placed.map(sessionSummary), ...(nextCursor === null ? {} : { nextCursor }) }
      })
    )

/** A draft is dropped. A session is a resource of others too: it leaves the client's list by archiving it. */
const disposeSession = (client: HostClient, { channel }: ParamsOf<"disposeSession">): Answer => {
  const parsed = parseSession(channel)
  if (parsed === undefined) return fail(noSession)
  if (client.drafts.delete(parsed.id)) {
    for (const open of client.channels.values())
      if (open.sessionId === parsed.id) client.unsubscribe(open.address)
    return Effect.succeed(null)
  }
  const key = `${client.clientId}:archive:${parsed.id}`
  return Effect.andThen(
    findSession(client, channel),
    Effect.mapBoth(client.backend.archive(parsed.id, key), { onFailure: refusalOf, onSuccess: () => null })
  )
}

const handlers: {
  readonly [Name in RequestName]: (client: HostClient, params: ParamsOf<Name>) => Answer
} = {
  initialize: () => fail(protocolError("invalidRequest", "The connection is initialized already.")),
  reconnect: () => fail(protocolError("invalidRequest", "The connection is initialized already.")),
  ping: () => Effect.succeed(null),
  listSessions,
  resolveSessionConfig: (client, { config, provider }) => {
    const agent = client.agentOf(provider)
    return agent === undefined
      ? fail(protocolError("providerNotFound", "There is no such agent."))
      : Effect.succeed(sessionConfig(agent.modes, chosenMode(agent.modes, config)))
  },
  sessionConfigCompletions: () => Effect.succeed({ items: [] }),
  completions: () => Effect.succeed({ items: [] }),
  createSession,
  disposeSession,
  subscribe: (client, { channel }) =>
    Effect.map(openChannel(client, channel), (opened) => ({ snapshot: snapshotOf(client, opened) })),
  fetchTurns: (client, { channel, cursor }) => {
    const chat = client.channels.get(channel)
    if (!(chat instanceof ChatChannel)) return fail(protocolError("notFound", "The chat is not subscribed."))
    if (cursor !== undefined && cursor !== chat.snapshot().turnsNextCursor)
      return fail(protocolError("invalidParams", "The cursor is not of this chat."))
    return Effect.mapBoth(chat.loadOlder(), { onFailure: refusalOf, onSuccess: () => ({}) })
  },
  resourceRead: (client, { encoding, uri }) => readResource(client, uri, encoding),
  resourceList: (client, { uri }) => listResource(client, uri),
  resourceResolve: (client, { uri }) => resolveResource(client, uri),
  invokeChangesetOperation: (client, { channel, operationId, target }) => {
    const changeset = client.channels.get(channel)
    return changeset instanceof ChangesetChannel
      ? changeset.decide(operationId, target)
      : fail(protocolError("notFound", "The changes are not subscribed."))
  }
}

/** Answers a request. */
export const answerRequest = (client: HostClient, method: string, params: unknown): Answer => {
  if (/^(?:create|dispose)Terminal$/.test(method))
    return fail(protocolError("permissionDenied", "This host offers no terminals."))
  if (method.startsWith("resource") && !isRequestName(method))
    return fail(protocolError("permissionDenied", "Resources can only be read."))
  if (!isRequestName(method))
    return fail(protocolError("methodNotFound", `The host does not support ${method.slice(0, 64)}.`))
  const decoded = decodeParams(method, params)
  if (Result.isFailure(decoded)) return fail(decoded.failure)
  // The parameters are those of the method; TypeScript does not follow the indexed union.
  const handle = handlers[method] as (client: HostClient, params: unknown) => Answer
  return handle(client, decoded.success)
}
