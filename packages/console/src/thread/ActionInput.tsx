/** Input of an action, and the input that ran instead if a person edited it. */
import { isClipped, type BoundedText } from "@corral/domain/run/BoundedText"
import { targetOfInput } from "@corral/domain/run/EditedLabel"
import type { ToolBlock } from "@corral/domain/run/RunBlock"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { Clipped } from "../markdown/Clipped.tsx"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleText } from "../markdown/visible.ts"
import { WholeText } from "../run/WholeText.tsx"
import { runMessages } from "../run/messages.ts"
import { useMessages } from "../text/Language.tsx"
import { kindOfTool } from "./ActionKind.ts"
import type { RunPlace } from "./RunPlace.ts"
import "./work.css"

const inputOf =
  (callId: string) =>
  ({ payload, type }: Envelope): unknown =>
    type === "run.tool.call" && payload["callId"] === callId
      ? JSON.stringify(payload["input"], null, 2)
      : undefined
const allowedInputOf = ({ payload, type }: Envelope): unknown =>
  type === "run.approval.resolved" ? JSON.stringify(payload["allowedInput"], null, 2) : undefined

/** A command is copied as it is typed in a terminal. */
const commandOf = ({ text }: BoundedText): string | undefined => {
  try {
    return targetOfInput(JSON.parse(text))
  } catch {
    // Only the start of a long input is here.
    return undefined
  }
}

interface TextProps {
  readonly title: string
  readonly bounded: BoundedText
  readonly name: string
  readonly of: (event: Envelope) => unknown
  readonly place: RunPlace
  readonly isCommand: boolean
}

const InputText = ({ bounded, isCommand, name, of, place, title }: TextProps) => {
  const { copyCommand, copyInput } = useMessages(markdownMessages)
  const command = isCommand ? commandOf(bounded) : undefined
  return (
    <>
      <h3>{title}</h3>
      <Clipped
        text={visibleText(bounded.text)}
        className="code"
        copies={command === undefined ? copyInput : copyCommand}
        copyText={command}
      />
      {isClipped(bounded) && <WholeText runId={place.runId} bounded={bounded} name={name} of={of} />}
    </>
  )
}

interface Props {
  readonly tool: ToolBlock
  readonly place: RunPlace
}

export const ActionInput = ({ place, tool: { allowedInput, callId, input, seq, tool } }: Props) => {
  const isCommand = kindOfTool(tool) === "command"
  const messages = useMessages(runMessages)
  return (
    <>
      {allowedInput !== undefined && (
        <InputText
          title={messages.allowedInput}
          bounded={allowedInput}
          name={`allowed ${seq}`}
          of={allowedInputOf}
          {...{ isCommand, place }}
        />
      )}
      {input !== undefined && (
        <InputText
          title={allowedInput === undefined ? messages.input : messages.requestedInput}
          bounded={input}
          name={`in ${seq}`}
          of={inputOf(callId)}
          {...{ isCommand, place }}
        />
      )}
    </>
  )
}
