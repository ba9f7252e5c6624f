/** State of a chat after an action. Pure, as the protocol defines it. An action of an unknown type or of another turn changes nothing. */
import type { ChatAction } from "../protocol/Actions.ts"
import {
  ACTIVITY_BITS,
  type ActiveTurn,
  type ChatState,
  type ErrorPart,
  type InputRequestState,
  type ResponsePart,
  statusBits,
  type ToolCall,
  type TurnState
} from "../protocol/State.ts"
import { withFlag, withItem } from "./ChannelReducers.ts"
import { baseOf, toolCallReducer, type ToolCallAction } from "./ToolCallReducer.ts"

type ActionOf<Type extends ChatAction["type"]> = Extract<ChatAction, { readonly type: Type }>
type InputPart = Extract<ResponsePart, { readonly kind: "inputRequest" }>

const waitingCalls: ReadonlySet<ToolCall["status"]> = new Set([
  "pending-confirmation",
  "pending-result-confirmation",
  "auth-required"
])

const isWaiting = (part: ResponsePart): boolean =>
  part.kind === "toolCall"
    ? waitingCalls.has(part.toolCall.status)
    : part.kind === "inputRequest" && part.response === undefined

const activityOf = ({ activeTurn }: ChatState): number => {
  if (activeTurn === undefined) return statusBits.idle
  return activeTurn.responseParts.some(isWaiting) ? statusBits.inputNeeded : statusBits.inProgress
}

const withActivity = (state: ChatState, bits = activityOf(state)): ChatState => {
  const status = (state.status & ~ACTIVITY_BITS) | bits
  return status === state.status ? state : { ...state, status }
}

const unread = (state: ChatState): ChatState => ({
  ...state,
  status: withFlag(withActivity(state).status, statusBits.isRead, false)
})

const changeTurn = (
  state: ChatState,
  turnId: string,
  change: (turn: ActiveTurn) => ActiveTurn
): ChatState => {
  const { activeTurn } = state
  if (activeTurn === undefined || activeTurn.id !== turnId) return state
  const changed = change(activeTurn)
  return changed === activeTurn ? state : { ...state, activeTurn: changed }
}

const addPart = (state: ChatState, turnId: string, part: ResponsePart): ChatState =>
  changeTurn(state, turnId, (turn) => ({ ...turn, responseParts: [...turn.responseParts, part] }))

/** Changes of parts; the same turn if no part changes. */
const changeParts = (turn: ActiveTurn, change: (part: ResponsePart) => ResponsePart): ActiveTurn => {
  const responseParts = turn.responseParts.map(change)
  return responseParts.some((part, index) => part !== turn.responseParts[index])
    ? { ...turn, responseParts }
    : turn
}

const appendText = (
  state: ChatState,
  { content, partId, turnId }: ActionOf<"chat/delta" | "chat/reasoning">,
  kind: "markdown" | "reasoning"
): ChatState =>
  changeTurn(state, turnId, (turn) => {
    const at = turn.responseParts.findIndex((part) => idOf(part) === partId)
    const part = turn.responseParts[at]
    if (part === undefined || (part.kind !== "markdown" && part.kind !== "reasoning") || part.kind !== kind)
      return turn
    return {
      ...turn,
      responseParts: turn.responseParts.with(at, { ...part, content: part.content + content })
    }
  })

const idOf = (part: ResponsePart): string | undefined => {
  if (part.kind === "toolCall") return part.toolCall.toolCallId
  return part.kind === "markdown" || part.kind === "reasoning" ? part.id : undefined
}

/** A call that has no end when its turn ends. */
const skipped = (call: ToolCall): ToolCall => {
  if (call.status === "completed" || call.status === "cancelled") return call
  const isStreaming = call.status === "streaming"
  return {
    status: "cancelled",
    ...baseOf(call),
    invocationMessage: isStreaming ? (call.invocationMessage ?? "") : call.invocationMessage,
    toolInput: isStreaming ? undefined : call.toolInput,
    reason: "skipped"
  }
}

const endTurn = (
  state: ChatState,
  { duration, turnId }: { readonly turnId: string; readonly duration: number },
  end: TurnState,
  error?: ErrorPart
): ChatState => {
  const turn = state.activeTurn
  if (turn === undefined || turn.id !== turnId) return state
  const { id, message, responseParts, startedAt, usage } = turn
  const time = Math.max(0, duration)
  const parts = responseParts.map((part): ResponsePart => {
    if (part.kind !== "toolCall") return part
    const toolCall = skipped(part.toolCall)
    return toolCall === part.toolCall ? part : { kind: "toolCall", toolCall }
  })
  const ended: ChatState = {
    ...state,
    turns: [
      ...state.turns,
      {
        id,
        startedAt,
        duration: time,
        message,
        responseParts: error === undefined ? parts : [...parts, error],
        usage,
        state: end
      }
    ],
    activeTurn: undefined,
    modifiedAt: new Date(Date.parse(startedAt) + time).toISOString()
  }
  return withActivity(ended, end === "error" ? statusBits.error : undefined)
}

const startTurn = (state: ChatState, action: ActionOf<"chat/turnStarted">): ChatState => {
  const { message, queuedMessageId, startedAt, turnId: id } = action
  const activeTurn: ActiveTurn = { id, startedAt, message, responseParts: [], usage: undefined }
  const started = { ...unread({ ...state, activeTurn }), modifiedAt: startedAt }
  if (queuedMessageId === undefined) return started
  const steered =
    started.steeringMessage?.id === queuedMessageId ? { ...started, steeringMessage: undefined } : started
  return steered.queuedMessages === undefined ? steered : withoutQueued(steered, queuedMessageId)
}

const withoutQueued = (state: ChatState, id: string): ChatState => {
  const left = state.queuedMessages?.filter((each) => each.id !== id)
  return { ...state, queuedMessages: left === undefined || left.length === 0 ? undefined : left }
}

const resumeTurn = (state: ChatState, turnId: string): ChatState => {
  const last = state.turns.at(-1)
  const error = last?.responseParts.at(-1)
  const canResume =
    state.activeTurn === undefined &&
    last?.id === turnId &&
    last.state === "error" &&
    error?.kind === "error" &&
    error.resumable === true
  if (!canResume) return state
  const { id, message, responseParts, startedAt, usage } = last
  return unread({
    ...state,
    turns: state.turns.slice(0, -1),
    activeTurn: { id, startedAt: startedAt ?? state.modifiedAt, message, responseParts, usage }
  })
}

/** The newest question with the id that has no answer. */
const openInput = (turn: ActiveTurn | undefined, id: string) => {
  const at = turn?.responseParts.findIndex(
    (part) => part.kind === "inputRequest" && part.response === undefined && part.request.id === id
  )
  const part = at === undefined ? undefined : turn?.responseParts[at]
  return turn === undefined || at === undefined || part?.kind !== "inputRequest"
    ? undefined
    : { turn, at, part }
}

const changeInput = (state: ChatState, id: string, change: (part: InputPart) => InputPart): ChatState => {
  const found = openInput(state.activeTurn, id)
  if (found === undefined) return state
  const { at, part, turn } = found
  return { ...state, activeTurn: { ...turn, responseParts: turn.responseParts.with(at, change(part)) } }
}

const requestInput = (state: ChatState, request: InputRequestState): ChatState => {
  const turn = state.activeTurn
  if (turn === undefined) return state
  const found = openInput(turn, request.id)
  const part: InputPart = {
    kind: "inputRequest",
    request:
      found === undefined ? request : { ...request, answers: request.answers ?? found.part.request.answers }
  }
  const responseParts =
    found === undefined ? [...turn.responseParts, part] : turn.responseParts.with(found.at, part)
  return unread({ ...state, activeTurn: { ...turn, responseParts } })
}

const answersOrNone = (answers: NonNullable<InputRequestState["answers"]>): InputRequestState["answers"] =>
  Object.keys(answers).length === 0 ? undefined : answers

const draftAnswer = (
  state: ChatState,
  { answer, questionId, requestId }: ActionOf<"chat/inputAnswerChanged">
): ChatState =>
  changeInput(state, requestId, (part) => {
    const { [questionId]: _, ...others } = part.request.answers ?? {}
    const answers = answer === undefined ? others : { ...part.request.answers, [questionId]: answer }
    return { ...part, request: { ...part.request, answers: answersOrNone(answers) } }
  })

const completeInput = (
  state: ChatState,
  { answers, requestId, response }: ActionOf<"chat/inputCompleted">
): ChatState => {
  const changed = changeInput(state, requestId, (part) => ({
    ...part,
    request: { ...part.request, answers: answersOrNone({ ...part.request.answers, ...answers }) },
    response
  }))
  return changed === state ? state : withActivity(changed)
}

const setPending = (
  state: ChatState,
  { id, kind, message }: ActionOf<"chat/pendingMessageSet">
): ChatState => {
  const pending = { id, message }
  return kind === "steering"
    ? { ...state, steeringMessage: pending }
    : { ...state, queuedMessages: withItem(state.queuedMessages ?? [], pending, (each) => each.id === id) }
}

const removePending = (state: ChatState, { id, kind }: ActionOf<"chat/pendingMessageRemoved">): ChatState => {
  if (kind === "steering")
    return state.steeringMessage?.id === id ? { ...state, steeringMessage: undefined } : state
  return state.queuedMessages?.some((each) => each.id === id) === true ? withoutQueued(state, id) : state
}

const reorder = (state: ChatState, order: ReadonlyArray<string>): ChatState => {
  const { queuedMessages: queued } = state
  if (queued === undefined) return state
  const named = [...new Set(order)].flatMap((id) => queued.find((each) => each.id === id) ?? [])
  return { ...state, queuedMessages: [...named, ...queued.filter((each) => !named.includes(each))] }
}

const truncate = (state: ChatState, turnId: string | undefined): ChatState => {
  const at = state.turns.findIndex(({ id }) => id === turnId)
  if (turnId !== undefined && at < 0) return state
  const { turnsNextCursor, ...rest } = state
  const cursor = turnId === undefined || turnsNextCursor === undefined ? {} : { turnsNextCursor }
  const turns = turnId === undefined ? [] : state.turns.slice(0, at + 1)
  return withActivity({ ...rest, ...cursor, turns, activeTurn: undefined })
}

const loadTurns = (state: ChatState, { turns, turnsNextCursor }: ActionOf<"chat/turnsLoaded">): ChatState => {
  const present = new Set(state.turns.map(({ id }) => id))
  const older = turns.filter(({ id }) => !present.has(id))
  return { ...state, turns: [...older, ...state.turns], turnsNextCursor }
}

const withDirectory = (
  state: ChatState,
  { directory, type }: ActionOf<"chat/workingDirectorySet" | "chat/workingDirectoryRemoved">
): ChatState => {
  const directories = state.workingDirectories ?? []
  const has = directories.includes(directory)
  if (type === "chat/workingDirectorySet")
    return has ? state : { ...state, workingDirectories: [...directories, directory] }
  return has
    ? { ...state, workingDirectories: directories.toSpliced(directories.indexOf(directory), 1) }
    : state
}

/** Changes of a call that end or begin what waits for a person. */
const settling: ReadonlySet<ToolCallAction["type"]> = new Set([
  "chat/toolCallReady",
  "chat/toolCallConfirmed",
  "chat/toolCallComplete",
  "chat/toolCallResultConfirmed",
  "chat/toolCallAuthRequired",
  "chat/toolCallAuthResolved"
])

const changeCall = (state: ChatState, action: ToolCallAction): ChatState => {
  const { toolCallId, turnId } = action
  if (action.type === "chat/toolCallStart") {
    const { _meta, contributor, displayName, intention, toolName } = action
    const call = {
      toolCallId,
      toolName,
      displayName,
      intention,
      contributor,
      _meta,
      status: "streaming" as const
    }
    return addPart(state, turnId, { kind: "toolCall", toolCall: call })
  }
  const changed = changeTurn(state, turnId, (turn) =>
    changeParts(turn, (part) => {
      if (part.kind !== "toolCall" || part.toolCall.toolCallId !== toolCallId) return part
      const toolCall = toolCallReducer(part.toolCall, action)
      return toolCall === part.toolCall ? part : { ...part, toolCall }
    })
  )
  return settling.has(action.type) ? withActivity(changed) : changed
}

const changeTurns = (
  state: ChatState,
  action: ActionOf<
    | "chat/turnStarted"
    | "chat/turnComplete"
    | "chat/turnCancelled"
    | "chat/error"
    | "chat/turnResume"
    | "chat/usage"
    | "chat/truncated"
    | "chat/turnsLoaded"
  >
): ChatState => {
  switch (action.type) {
    case "chat/turnStarted":
      return startTurn(state, action)
    case "chat/turnComplete":
      return endTurn(state, action, "complete")
    case "chat/turnCancelled":
      return endTurn(state, action, "cancelled")
    case "chat/error":
      return endTurn(state, action, "error", action.part)
    case "chat/turnResume":
      return resumeTurn(state, action.turnId)
    case "chat/usage":
      return changeTurn(state, action.turnId, (turn) => ({ ...turn, usage: action.usage }))
    case "chat/truncated":
      return truncate(state, action.turnId)
    case "chat/turnsLoaded":
      return loadTurns(state, action)
  }
}

export const chatReducer = (state: ChatState, action: ChatAction): ChatState => {
  switch (action.type) {
    case "chat/turnStarted":
    case "chat/turnComplete":
    case "chat/turnCancelled":
    case "chat/error":
    case "chat/turnResume":
    case "chat/usage":
    case "chat/truncated":
    case "chat/turnsLoaded":
      return changeTurns(state, action)
    case "chat/delta":
      return appendText(state, action, "markdown")
    case "chat/reasoning":
      return appendText(state, action, "reasoning")
    case "chat/responsePart":
      return action.part.kind === "error" ? state : addPart(state, action.turnId, action.part)
    case "chat/activityChanged":
      return { ...state, activity: action.activity }
    case "chat/workingDirectorySet":
    case "chat/workingDirectoryRemoved":
      return withDirectory(state, action)
    case "chat/toolCallStart":
    case "chat/toolCallDelta":
    case "chat/toolCallReady":
    case "chat/toolCallConfirmed":
    case "chat/toolCallComplete":
    case "chat/toolCallResultConfirmed":
    case "chat/toolCallContentChanged":
    case "chat/toolCallAuthRequired":
    case "chat/toolCallAuthResolved":
      return changeCall(state, action)
    case "chat/pendingMessageSet":
      return setPending(state, action)
    case "chat/pendingMessageRemoved":
      return removePending(state, action)
    case "chat/queuedMessagesReordered":
      return reorder(state, action.order)
    case "chat/draftChanged":
      return { ...state, draft: action.draft }
    case "chat/inputRequested":
      return requestInput(state, action.request)
    case "chat/inputAnswerChanged":
      return draftAnswer(state, action)
    case "chat/inputCompleted":
      return completeInput(state, action)
    default:
      return state
  }
}
