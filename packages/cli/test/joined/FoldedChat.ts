/**
 * Chat as a window of an editor has it, folded from what its host has sent: a snapshot, and each action after it.
 *
 * Guarantees: actions have dense numbers. An action that is received again, after a reconnect, is the one that was received before.
 */
import type { ChatAction } from "@corral/agent-host/protocol/Actions"
import type { ChatState } from "@corral/agent-host/protocol/State"
import { chatReducer } from "@corral/agent-host/reducers/ChatReducer"
import type { HostSnapshot, ReceivedAction } from "@corral/testing/editor/AgentHostClient"
import { assert } from "@effect/vitest"

/** A state, and the number of the action that led to it. */
interface FoldStep {
  readonly seq: number
  readonly state: ChatState
}

export class FoldedChat {
  readonly address: string
  private steps: Array<FoldStep>
  private readonly received = new Map<number, string>()

  constructor(snapshot: HostSnapshot) {
    this.address = snapshot.resource
    this.steps = [stepOf(snapshot)]
  }

  get state(): ChatState {
    return this.last.state
  }

  /** Number of the last action. */
  get seq(): number {
    return this.last.seq
  }

  /** Numbers of everything that the window has seen. */
  get seen(): ReadonlyArray<number> {
    return this.steps.map(({ seq }) => seq)
  }

  apply({ action, channel, rejectionReason, serverSeq }: ReceivedAction): void {
    assert.strictEqual(serverSeq, this.seq + 1, "an action is lost, or came twice")
    const content = JSON.stringify([channel, action, rejectionReason])
    assert.strictEqual(content, this.received.get(serverSeq) ?? content, "a replay is what was sent before")
    this.received.set(serverSeq, content)
    const isChange = channel === this.address && rejectionReason === undefined
    // As the protocol has it.
    const state = isChange ? chatReducer(this.state, action as unknown as ChatAction) : this.state
    this.steps.push({ seq: serverSeq, state })
  }

  /** The window has not seen what came after this number. */
  rewind(seq: number): void {
    this.steps = this.steps.filter((step) => step.seq <= seq)
  }

  /** Begins with a snapshot again. */
  replace(snapshot: HostSnapshot): void {
    this.steps = [stepOf(snapshot)]
  }

  private get last(): FoldStep {
    const last = this.steps.at(-1)
    assert.isDefined(last)
    return last
  }
}

const stepOf = ({ fromSeq, state }: HostSnapshot): FoldStep => ({
  seq: fromSeq,
  state: state as unknown as ChatState // as the protocol has it
})

/** Text of the agent in each turn, in order. */
export const textsOf = ({ activeTurn, turns }: ChatState): ReadonlyArray<string> =>
  [...turns, ...(activeTurn === undefined ? [] : [activeTurn])].map(({ responseParts }) =>
    responseParts.map((part) => (part.kind === "markdown" ? part.content : "")).join("")
  )
