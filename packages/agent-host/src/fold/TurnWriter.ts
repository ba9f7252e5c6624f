/**
 * The turns of one run, and text in them.
 *
 * Guarantees: ids of turns and parts come from the run and the position of the event, so that every reading has the same. What happens between turns
 * begins one.
 */
import type { RunEvent } from "@corral/domain/run/RunEvent"
import type { ChatAction } from "../protocol/Actions.ts"

type Actions = ReadonlyArray<ChatAction>
const none: Actions = []

/** What stands between two texts. */
const separating: ReadonlySet<ChatAction["type"]> = new Set([
  "chat/turnStarted",
  "chat/toolCallStart",
  "chat/inputRequested"
])

export class TurnWriter {
  /** The turn in progress. */
  turnId: string | undefined
  /** Whether the turn has a text of the agent. */
  hasText = false
  model: string | undefined
  private readonly runId: string
  /** Whether the last part of the turn is text. */
  private isAfterText = false
  private turn = 0
  private startedAt = ""

  constructor(runId: string, model: string | undefined) {
    this.runId = runId
    this.model = model
  }

  partId(event: RunEvent, part = ""): string {
    return `${this.runId}.${event.seq}${part === "" ? "" : `.${part}`}`
  }

  begin(
    event: Pick<RunEvent, "createdAt">,
    text: string,
    kind: "user" | "systemNotification",
    key?: string
  ): Actions {
    this.turn++
    const turnId = key ?? `${this.runId}.${this.turn}`
    this.turnId = turnId
    this.startedAt = event.createdAt
    this.hasText = false
    const { model } = this
    const message = { text, origin: { kind }, ...(model === undefined ? {} : { model: { id: model } }) }
    return [{ type: "chat/turnStarted", turnId, startedAt: event.createdAt, message }]
  }

  /** What happens between turns is shown in one that the agent began. */
  inTurn(event: RunEvent, actions: (turnId: string) => Actions): Actions {
    const started = this.turnId === undefined ? this.begin(event, "", "systemNotification") : none
    const turnId = this.turnId ?? ""
    return [...started, ...actions(turnId)]
  }

  /** A text of the agent. Clients join what follows another text: it is another paragraph. */
  textPart(turnId: string, kind: "markdown" | "reasoning", id: string, text: string): ChatAction {
    const content = kind === "markdown" && this.isAfterText ? `\n\n${text}` : text
    return { type: "chat/responsePart", turnId, part: { kind, id, content } }
  }

  /** Takes note of what was sent. */
  note(actions: Actions): void {
    for (const action of actions) {
      if (action.type === "chat/responsePart") this.isAfterText = action.part.kind === "markdown"
      else if (separating.has(action.type)) this.isAfterText = false
    }
  }

  duration(event: RunEvent): number {
    return Math.max(0, Date.parse(event.createdAt) - Date.parse(this.startedAt))
  }

  text(event: RunEvent, content: string, part = ""): Actions {
    return this.inTurn(event, (turnId) => [
      {
        type: "chat/responsePart",
        turnId,
        part: { kind: "markdown", id: this.partId(event, part), content }
      }
    ])
  }

  line(event: RunEvent, text: string, part = ""): Actions {
    return this.text(event, `\n\n*${text}*\n\n`, part)
  }
}
