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

export class TurnWriter {
  /** The turn in progress. */
  turnId: string | undefined
  /** Whether the turn has a text of the agent. */
  hasText = false
  model: string | undefined
  private readonly runId: string
  private turn = 0
  private startedAt = ""

  constructor(runId: string, model: string | undefined) {
    this.runId = runId
    this.model = model
  }

  partId(event: RunEvent, part = ""): string {
    return `${this.runId}.${event.seq}${part === "" ? "" : `.${part}`}`
  }

  begin(event: RunEvent, text: string, kind: "user" | "systemNotification", key?: string): Actions {
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
