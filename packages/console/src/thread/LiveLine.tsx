/** What a run does now, on one line: "Running npm test…". What waits for a person is said by its own card, and how long by the header. */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import type { RunView } from "@corral/domain/run/RunView"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { kindOf, targetOf } from "./ActionKind.ts"
import { currentStep } from "./StepList.tsx"
import { threadMessages } from "./messages.ts"
import { partOf } from "./WorkPart.ts"
import "./work.css"

interface Props {
  readonly state: RunView["state"]
  readonly isPaused: boolean
  readonly blocks: ReadonlyArray<RunBlock>
  /** Name of the device. */
  readonly device: string
  /** Whether the device can't be heard: the last known work is not current. */
  readonly isOffline: boolean
}

/** Blocks at the end among which the call in progress is looked for. */
const LOOK_BACK = 20

const waitsForPerson = (state: RunView["state"]): boolean =>
  state === "waiting_approval" || state === "waiting_input"

/** "2 of 5: Write the tests", of the agent's own list. */
const StepNote = ({ blocks }: Pick<Props, "blocks">) => {
  const messages = useMessages(threadMessages)
  const list = blocks.findLast((block) => block.kind === "steps" && block.parentCallId === undefined)
  const steps = list?.kind === "steps" ? list.steps : []
  const current = steps[currentStep(steps)]
  if (current === undefined) return null
  return (
    <span className="live-step">
      {messages.stepOf(currentStep(steps) + 1, steps.length, visibleLine(current.text, 80))}
    </span>
  )
}

export const LiveLine = ({ blocks, device, isOffline, isPaused, state }: Props) => {
  const messages = useMessages(threadMessages)
  if (waitsForPerson(state)) return null
  const last = blocks.at(-1)
  const call = blocks
    .slice(-LOOK_BACK)
    .findLast((block) => block.kind === "tool" && block.status === "started")
  const part = call === undefined ? undefined : partOf(call)
  const text =
    state === undefined || state === "queued"
      ? messages.waitsForDevice(device)
      : state === "created" || state === "starting"
        ? messages.starting
        : part?.kind === "action"
          ? `${messages.verbs[kindOf(part)].doing} ${visibleLine(targetOf(part), 80)}…`.trimStart()
          : last?.kind === "message" && last.partial
            ? last.channel === "reasoning"
              ? messages.thinking
              : messages.writing
            : messages.working
  if (isOffline)
    return (
      <p className="live live-offline">
        <span aria-hidden="true">⊘</span> <span className="live-text">{messages.lastHeard(text)}</span>
      </p>
    )
  if (isPaused)
    return (
      <p className="live live-paused">
        <span aria-hidden="true">▮▮</span> <span className="live-text">{messages.paused}</span>
      </p>
    )
  return (
    <p className="live">
      <span className="live-mark" aria-hidden="true">
        ●
      </span>{" "}
      <span className="live-text">{text}</span>
      <StepNote blocks={blocks} />
    </p>
  )
}
