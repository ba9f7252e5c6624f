/** What a run does now, on one line with a clock: "Running npm test… 1m 12s". */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import type { RunView } from "@corral/domain/run/RunView"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { kindOf, targetOf } from "./ActionKind.ts"
import { Clock } from "./Clock.tsx"
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

export const LiveLine = ({ blocks, device, isOffline, isPaused, state }: Props) => {
  const messages = useMessages(threadMessages)
  const last = blocks.at(-1)
  const call = blocks
    .slice(-LOOK_BACK)
    .findLast((block) => block.kind === "tool" && block.status === "started")
  const part = call === undefined ? undefined : partOf(call)
  const [text, since] =
    state === "waiting_approval"
      ? [messages.waitsForYou, last?.at]
      : state === undefined || state === "queued"
        ? [messages.waitsForDevice(device), undefined]
        : state === "created" || state === "starting"
          ? [messages.starting, last?.at]
          : part?.kind === "action"
            ? [
                `${messages.verbs[kindOf(part)].doing} ${visibleLine(targetOf(part), 80)}…`.trimStart(),
                call?.at
              ]
            : last?.kind === "message" && last.partial
              ? [last.channel === "reasoning" ? messages.thinking : messages.writing, last.at]
              : [messages.working, last?.at]
  if (isOffline)
    return (
      <p className="live live-offline">
        <span aria-hidden="true">⊘</span> <span className="live-text">{messages.lastHeard(text)}</span>
      </p>
    )
  if (isPaused && state !== "waiting_approval")
    return (
      <p className="live live-paused">
        <span aria-hidden="true">▮▮</span> <span className="live-text">{messages.paused}</span>
      </p>
    )
  return (
    <p className={state === "waiting_approval" ? "live live-waiting" : "live"}>
      <span className="live-mark" aria-hidden="true">
        {state === "waiting_approval" ? "◆" : "●"}
      </span>{" "}
      <span className="live-text">{text}</span> {since !== undefined && <Clock key={since} since={since} />}
    </p>
  )
}
