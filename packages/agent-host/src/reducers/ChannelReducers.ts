/**
 * State of the root, of a session and of a changeset after an action. Pure, as the protocol defines it. An action of an unknown type changes nothing.
 *
 * Does not: customizations and MCP servers. The host offers none.
 */
import type { SessionAction, RootAction, ChangesetAction } from "../protocol/Actions.ts"
import {
  ACTIVITY_BITS,
  type InputNeeded,
  type SessionState,
  statusBits,
  type ConfigState,
  type RootState,
  type ChangesetState,
  type ErrorInfo
} from "../protocol/State.ts"

// Root.

/** The configuration after a change: merged, or replaced. */
export const changedConfig = (
  config: ConfigState,
  values: Readonly<Record<string, unknown>>,
  replaces: boolean | undefined
): ConfigState => ({ ...config, values: replaces === true ? { ...values } : { ...config.values, ...values } })

export const rootReducer = (state: RootState, action: RootAction): RootState => {
  switch (action.type) {
    case "root/agentsChanged":
      return { ...state, agents: action.agents }
    case "root/activeSessionsChanged":
      return { ...state, activeSessions: action.activeSessions }
    case "root/terminalsChanged":
      return { ...state, terminals: action.terminals }
    case "root/configChanged":
      return state.config === undefined
        ? state
        : { ...state, config: changedConfig(state.config, action.config, action.replace) }
    default:
      return state
  }
}

/** The list with an item in the place of the one that it replaces, or at the end. */
export const withItem = <Item>(
  items: ReadonlyArray<Item>,
  item: Item,
  isSame: (each: Item) => boolean
): ReadonlyArray<Item> => {
  const at = items.findIndex(isSame)
  return at < 0 ? [...items, item] : items.with(at, item)
}

/** The list without the first item that fits; the same list if there is none. */
export const withoutItem = <Item>(
  items: ReadonlyArray<Item>,
  isSame: (each: Item) => boolean
): ReadonlyArray<Item> => {
  const at = items.findIndex(isSame)
  return at < 0 ? items : items.toSpliced(at, 1)
}

export const withFlag = (status: number, flag: number, isSet: boolean): number =>
  isSet ? status | flag : status & ~flag

/** A tool that a client executes needs no person. */
const needsPerson = ({ kind }: InputNeeded): boolean => kind !== "toolClientExecution"

const statusWith = (status: number, needed: ReadonlyArray<InputNeeded>): number =>
  needed.some(needsPerson)
    ? (status & ~ACTIVITY_BITS) | statusBits.inputNeeded
    : status & ~(statusBits.inputNeeded & ~statusBits.inProgress)

type DirectoryAction = Extract<SessionAction, { readonly directory: string }>

const withDirectories = (state: SessionState, action: DirectoryAction): SessionState => {
  const { workingDirectories: directories } = state
  if (action.type === "session/workingDirectorySet") {
    const existing = directories ?? []
    return existing.includes(action.directory)
      ? state
      : { ...state, workingDirectories: [...existing, action.directory] }
  }
  if (directories === undefined || !directories.includes(action.directory)) return state
  if (action.type !== "session/workingDirectoryReplaced")
    return { ...state, workingDirectories: withoutItem(directories, (each) => each === action.directory) }
  const at = directories.indexOf(action.directory)
  const { replacement } = action
  const earlier = directories.indexOf(replacement)
  // The replacement is in the list once: where it was, or where the replaced directory was.
  return {
    ...state,
    workingDirectories:
      earlier >= 0 && earlier < at
        ? directories.toSpliced(at, 1)
        : directories.with(at, replacement).filter((each, index) => index === at || each !== replacement)
  }
}

const withoutChat = (state: SessionState, chat: string): SessionState => {
  const chats = withoutItem(state.chats, ({ resource }) => resource === chat)
  if (chats === state.chats) return state
  const { defaultChat, ...rest } = state
  return defaultChat === undefined || defaultChat === chat ? { ...rest, chats } : { ...state, chats }
}

const withoutInput = (state: SessionState, id: string): SessionState => {
  const { inputNeeded, ...rest } = state
  if (inputNeeded === undefined) return state
  const needed = withoutItem(inputNeeded, (each) => each.id === id)
  if (needed === inputNeeded) return state
  const status = statusWith(state.status, needed)
  return needed.length === 0 ? { ...rest, status } : { ...state, status, inputNeeded: needed }
}

const withInput = (state: SessionState, request: InputNeeded): SessionState => {
  const inputNeeded = withItem(state.inputNeeded ?? [], request, ({ id }) => id === request.id)
  return { ...state, inputNeeded, status: statusWith(state.status, inputNeeded) }
}

const withChatChanges = (
  state: SessionState,
  { changes, chat }: Extract<SessionAction, { readonly type: "session/chatUpdated" }>
): SessionState => ({
  ...state,
  chats: state.chats.map((each) =>
    each.resource === chat ? { ...each, ...changes, resource: each.resource } : each
  )
})

/** The state with a field, or without it. */
export const withOptional = <State extends object, Name extends keyof State>(
  state: State,
  name: Name,
  value: State[Name] | undefined
): State => {
  const { [name]: _, ...rest } = state
  return (value === undefined ? rest : { ...rest, [name]: value }) as State // the field is optional
}

export const sessionReducer = (state: SessionState, action: SessionAction): SessionState => {
  switch (action.type) {
    case "session/ready":
      return { ...state, lifecycle: "ready" }
    case "session/creationFailed":
      return { ...state, lifecycle: "failed", creationError: action.error }
    case "session/chatAdded":
      return {
        ...state,
        chats: withItem(state.chats, action.summary, ({ resource }) => resource === action.summary.resource)
      }
    case "session/chatRemoved":
      return withoutChat(state, action.chat)
    case "session/chatUpdated":
      return withChatChanges(state, action)
    case "session/defaultChatChanged":
      return withOptional(state, "defaultChat", action.defaultChat)
    case "session/titleChanged":
      return { ...state, title: action.title }
    case "session/isReadChanged":
      return { ...state, status: withFlag(state.status, statusBits.isRead, action.isRead) }
    case "session/isArchivedChanged":
      return { ...state, status: withFlag(state.status, statusBits.isArchived, action.isArchived) }
    case "session/activityChanged":
      return { ...state, activity: action.activity }
    case "session/changesetsChanged":
      return withOptional(state, "changesets", action.changesets)
    case "session/configChanged":
      return state.config === undefined
        ? state
        : { ...state, config: changedConfig(state.config, action.config, action.replace) }
    case "session/metaChanged":
      return { ...state, _meta: action._meta }
    case "session/serverToolsChanged":
      return { ...state, serverTools: action.tools }
    case "session/activeClientSet": {
      const { activeClient } = action
      const isSame = ({ clientId }: { readonly clientId: string }) => clientId === activeClient.clientId
      return { ...state, activeClients: withItem(state.activeClients, activeClient, isSame) }
    }
    case "session/activeClientRemoved": {
      const activeClients = withoutItem(state.activeClients, ({ clientId }) => clientId === action.clientId)
      return activeClients === state.activeClients ? state : { ...state, activeClients }
    }
    case "session/workingDirectorySet":
    case "session/workingDirectoryRemoved":
    case "session/workingDirectoryReplaced":
      return withDirectories(state, action)
    case "session/inputNeededSet":
      return withInput(state, action.request)
    case "session/inputNeededRemoved":
      return withoutInput(state, action.id)
    default:
      return state
  }
}

// Changesets.

/** The thing with another status; an error only belongs to the status `error`. */
const withStatus = <Thing extends { readonly status: string; readonly error?: ErrorInfo | undefined }>(
  thing: Thing,
  status: Thing["status"],
  error: ErrorInfo | undefined
): Thing => {
  const { error: _, ...rest } = thing
  const next = { ...rest, status, ...(status === "error" ? { error } : {}) }
  return next as unknown as Thing // the same fields, with the status and error of the thing's type
}

const withReview = (state: ChangesetState, files: ReadonlySet<string>, reviewed: boolean): ChangesetState =>
  state.files.some((file) => files.has(file.id) && file.reviewed !== reviewed)
    ? { ...state, files: state.files.map((file) => (files.has(file.id) ? { ...file, reviewed } : file)) }
    : state

export const changesetReducer = (state: ChangesetState, action: ChangesetAction): ChangesetState => {
  switch (action.type) {
    case "changeset/statusChanged":
      return withStatus(state, action.status, action.error)
    case "changeset/fileSet":
      return { ...state, files: withItem(state.files, action.file, ({ id }) => id === action.file.id) }
    case "changeset/fileRemoved": {
      const files = withoutItem(state.files, ({ id }) => id === action.fileId)
      return files === state.files ? state : { ...state, files }
    }
    case "changeset/filesReviewChanged":
      return withReview(state, new Set(action.files), action.reviewed)
    case "changeset/contentChanged":
      return action.operations === undefined
        ? { ...state, files: action.files }
        : { ...state, files: action.files, operations: action.operations }
    case "changeset/operationsChanged":
      return withOptional(state, "operations", action.operations)
    case "changeset/operationStatusChanged":
      return state.operations?.some(({ id }) => id === action.operationId) === true
        ? {
            ...state,
            operations: state.operations.map((operation) =>
              operation.id === action.operationId
                ? withStatus(operation, action.status, action.error)
                : operation
            )
          }
        : state
    case "changeset/cleared":
      return state.files.length === 0 ? state : { ...state, files: [] }
    default:
      return state
  }
}
