/** Sessions, chats and agents as the protocol has them: summaries, state, and the choices of a session. Pure. */
import type { RunMode } from "@corral/domain/approval/RunMode"
import { safeText } from "@corral/domain/text/SafeText"
import type { HostActivity, HostAgent, HostChat, HostSession, WaitingMessage } from "./HostBackend.ts"
import { changesetAddress, chatAddress, fileAddress, providerOf } from "../protocol/Addresses.ts"
import {
  type AgentInfo,
  type ChatState,
  type ChatSummary,
  type ConfigState,
  type PendingMessage,
  type SessionState,
  type SessionSummary,
  statusBits
} from "../protocol/State.ts"

/** A session with the address that the client uses, and the folder of its workspace. */
export interface PlacedSession {
  readonly session: HostSession
  readonly address: string
  readonly folder: string
}

/** Name of the choice of a mode. Clients have names of their own with other values for `mode`. */
export const MODE = "corralMode"

const modeNames: Readonly<Record<RunMode, string>> = {
  read_only: "Read only",
  plan: "Plan",
  ask: "Ask",
  auto_edit: "Edit without asking",
  full_access: "Full access"
}

const activities: Readonly<Record<HostActivity, number>> = {
  idle: statusBits.idle,
  running: statusBits.inProgress,
  waiting: statusBits.inputNeeded,
  failed: statusBits.error
}

/** What a session does: a chat that waits or has failed comes before the default chat. */
const activityOf = ({ chats, defaultChat }: HostSession): HostActivity => {
  const all = chats.map(({ activity }) => activity)
  return (
    all.find((activity) => activity === "waiting") ??
    all.find((activity) => activity === "failed") ??
    chats.find(({ id }) => id === defaultChat)?.activity ??
    "idle"
  )
}

const statusOf = (session: HostSession, activity: HostActivity): number =>
  activities[activity] |
  (session.unread === true ? 0 : statusBits.isRead) |
  (session.archived ? statusBits.isArchived : 0)

/** The chat with the session's first agent has its own address: it exists before the agent has an id. */
export const addressOfChat = ({ address, session }: PlacedSession, chat: HostChat): string =>
  chatAddress(address, chat.id === session.chats[0].id ? undefined : chat.id)

/** VS Code names a window after its chat: the only chat of a session has the session's title. */
const titleOfChat = ({ session }: PlacedSession, chat: HostChat): string =>
  safeText(session.chats.length === 1 ? session.title : chat.title)

export const chatSummary = (placed: PlacedSession, chat: HostChat): ChatSummary => ({
  resource: addressOfChat(placed, chat),
  title: titleOfChat(placed, chat),
  status: statusOf(placed.session, chat.activity),
  modifiedAt: chat.updatedAt,
  interactivity: chat.readOnly === true || !placed.session.rights.maySend ? "read-only" : "full",
  workingDirectories: [fileAddress(placed.folder)]
})

export const sessionSummary = ({ address, folder, session }: PlacedSession): SessionSummary => ({
  resource: address,
  provider: providerOf(session.agentId),
  title: safeText(session.title),
  status: statusOf(session, activityOf(session)),
  createdAt: session.createdAt,
  modifiedAt: session.updatedAt,
  workingDirectories: [fileAddress(folder)],
  ...(session.changes === undefined ? {} : { changes: session.changes })
})

/** The choices of a session: the mode of its next turn. */
export const sessionConfig = (modes: ReadonlyArray<RunMode>, mode: RunMode | undefined): ConfigState => {
  const [first] = modes
  return {
    schema: {
      type: "object",
      properties:
        first === undefined
          ? {}
          : {
              [MODE]: {
                type: "string",
                title: "Mode",
                description: "What the agent may do without an approval",
                enum: modes,
                enumLabels: modes.map((each) => modeNames[each]),
                default: first,
                sessionMutable: true
              }
            }
    },
    values: first === undefined ? {} : { [MODE]: mode !== undefined && modes.includes(mode) ? mode : first }
  }
}

/** The mode in the values of a choice, if it is offered. */
export const chosenMode = (
  modes: ReadonlyArray<RunMode>,
  values: Readonly<Record<string, unknown>> | undefined
): RunMode | undefined => modes.find((mode) => mode === values?.[MODE])

export const changesetsOf = (placed: PlacedSession): NonNullable<SessionState["changesets"]> =>
  placed.session.changes === undefined
    ? []
    : [
        {
          label: "Changes",
          description: "What the agent changed and no person has decided",
          uriTemplate: changesetAddress(placed.address),
          changeKind: "session"
        }
      ]

export const sessionState = (placed: PlacedSession, modes: ReadonlyArray<RunMode>): SessionState => {
  const { session } = placed
  const { resource: _, ...summary } = sessionSummary(placed)
  const defaultChat = session.chats.find(({ id }) => id === session.defaultChat) ?? session.chats[0]
  return {
    ...summary,
    lifecycle: "ready",
    activeClients: [],
    chats: session.chats.map((chat) => chatSummary(placed, chat)),
    defaultChat: addressOfChat(placed, defaultChat),
    config: sessionConfig(modes, defaultChat.mode),
    changesets: changesetsOf(placed)
  }
}

/** A chat without turns. */
export const emptyChat = (placed: PlacedSession, chat: HostChat): ChatState => ({
  ...chatSummary(placed, chat),
  status: statusOf(placed.session, "idle"),
  turns: []
})

/** Ends ids of turns of messages that waited, and ids of messages that another client has sent. */
const TURN = ".turn"
const WAITING = ".waiting"

/** Id of the turn of a message that waited. Clients name what they show of a turn by its id, and a message that waits by its own. */
export const turnOf = (messageId: string): string => `${messageId}${TURN}`

/** Id under which clients show a message that waits, by its key, which is the id of its turn. */
export const waitingIdOf = (key: string): string =>
  key.endsWith(TURN) ? key.slice(0, -TURN.length) : `${key}${WAITING}`

export const queuedMessage = ({ key, text }: WaitingMessage): PendingMessage => ({
  id: waitingIdOf(key),
  message: { text, origin: { kind: "user" } }
})

/** VS Code shows an agent only with a model. */
export const agentInfo = ({ description, id, label, models }: HostAgent): AgentInfo => {
  const provider = providerOf(id)
  const offered = models.length === 0 ? [{ id: DEFAULT_MODEL, name: "Default" }] : models
  return {
    provider,
    displayName: safeText(label),
    description: safeText(description),
    models: offered.map((model) => ({ id: model.id, provider, name: model.name }))
  }
}

/** Id of the model that stands for the agent's choice. */
const DEFAULT_MODEL = "default"

/** The model to name. `undefined`: the agent chooses. */
export const chosenModel = (agent: HostAgent | undefined, id: string | undefined): string | undefined =>
  agent?.models.find((model) => model.id === id)?.id
