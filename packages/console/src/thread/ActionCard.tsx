/**
 * One action of an agent: what it does and its state on one line, who decided it, and on request its changes, its input, with the one that ran
 * instead if a person edited it, and its output, with the colours of the terminal.
 */
import {
  type ApprovalBlock,
  type BoundedText,
  isClipped,
  type PatchBlock,
  type ToolBlock
} from "@corral/domain/run/RunBlock"
import { targetOfInput } from "@corral/domain/run/EditedLabel"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { splitEnds } from "@corral/domain/text/Cut"
import { Link } from "@tanstack/react-router"
import { memo, useState } from "react"
import { ApprovalOutcome, DecidedRequest } from "../approval/ApprovalOutcome.tsx"
import { Patch } from "../diff/Patch.tsx"
import { Clipped } from "../markdown/Clipped.tsx"
import { ansiPieces } from "../markdown/ansi.ts"
import { markdownMessages } from "../markdown/messages.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { WholeText } from "../run/MessageView.tsx"
import { runMessages } from "../run/messages.ts"
import { formatDuration } from "../text/Duration.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { type ActionKind, type ActionState, kindOf, kindOfTool, stateOf, targetOf } from "./ActionKind.ts"
import { ResultContent } from "./ResultContent.tsx"
import type { RunPlace } from "./RunPlace.ts"
import type { ActionPart } from "./WorkPart.ts"
import { threadMessages } from "./messages.ts"
import "./work.css"
import "../markdown/markdown.css"
import "../run/run.css"

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

interface ActionPartProps {
  readonly tool: ToolBlock
  readonly place: RunPlace
}

/** Input of an action, and the input that ran instead if a person edited it. */
const ActionInput = ({ place, tool: { allowedInput, callId, input, seq, tool } }: ActionPartProps) => {
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

/** Lines at the end of a failed output that are always visible. */
const TAIL_LINES = 5
const TAIL_CHARACTERS = 1_000

const outputOf =
  (callId: string) =>
  ({ payload, type }: Envelope): unknown =>
    type === "run.tool.result" && payload["callId"] === callId ? payload["output"] : undefined

const pieces = (text: string) =>
  ansiPieces(text).map((piece, at) => (
    <span key={at} className={piece.className}>
      {piece.text}
    </span>
  ))

/** Removes remains of an escape sequence that was split between two parts. */
const cleaned = (text: string): string => (text.includes("\u001b") ? text : visibleText(text))

/** The last lines of a failed output. */
const OutputTail = ({ text }: { readonly text: string }) => {
  const lines = text.slice(-TAIL_CHARACTERS).toWellFormed().trimEnd().split("\n").slice(-TAIL_LINES)
  return <pre className="action-tail">{pieces(cleaned(lines.join("\n")))}</pre>
}

/** Output of an action: colours of the terminal, clipped, with a way to the rest. */
const ActionOutput = ({
  place: { runId },
  tool: { artifactId, callId, content, output, seq }
}: ActionPartProps) => {
  const messages = useMessages(runMessages)
  const { copyOutput } = useMessages(markdownMessages)
  if (output === undefined || output.text === "")
    // An image is in view above.
    return content === undefined ? <p className="quiet">{messages.noOutput}</p> : null
  const ends = isClipped(output) && output.skipped === 0 ? splitEnds(output.text) : undefined
  // Of an output that was cut at its end, the start is what there is.
  const hasEnd = ends !== undefined || output.skipped > 0 || !isClipped(output)
  return (
    <>
      {ends !== undefined && (
        <>
          <Clipped text={cleaned(ends.start)} className="code terminal">
            {pieces}
          </Clipped>
          <p className="quiet">{messages.leftOut(ends.missing)}</p>
        </>
      )}
      <Clipped
        text={cleaned(ends?.end ?? output.text)}
        className="code terminal"
        isEnd={hasEnd}
        copies={copyOutput}
      >
        {pieces}
      </Clipped>
      {isClipped(output) && ends === undefined && (
        <p className="quiet">{hasEnd ? messages.earlier : messages.rest}</p>
      )}
      {isClipped(output) && artifactId === undefined && (
        <WholeText runId={runId} bounded={output} name={`out ${seq}`} of={outputOf(callId)} />
      )}
      {artifactId !== undefined && (
        <ArtifactLink runId={runId} artifactId={artifactId}>
          {messages.download}
        </ArtifactLink>
      )}
    </>
  )
}

const icons: Readonly<Record<ActionKind, IconName>> = {
  read: "read",
  search: "search",
  write: "write",
  command: "command",
  web: "network",
  delegate: "agent",
  other: "runs"
}

/** Shapes of states, so that colour is never the only sign. */
const marks: Readonly<Record<ActionState, string>> = {
  started: "●",
  waiting: "◆",
  completed: "✓",
  failed: "✕",
  denied: "⊘",
  cancelled: "■"
}

/** Shorter durations are not worth a word. */
const SHORTEST_MS = 1_000

const usesTime = ({ tool }: ActionPart): number =>
  tool?.endedAt === undefined ? 0 : Date.parse(tool.endedAt) - Date.parse(tool.at)

const PatchView = ({ patch: block, place }: { readonly patch: PatchBlock; readonly place: RunPlace }) => (
  <>
    <Patch patch={block.patch.text} path={block.path} />
    {isClipped(block.patch) && (
      <WholeText
        runId={place.runId}
        bounded={block.patch}
        name={`patch ${block.seq}`}
        of={({ payload }) => payload["patch"]}
      />
    )}
  </>
)

/** Decisions of policies are details. Those of people are always visible. */
const isByPerson = ({ resolution }: ApprovalBlock): boolean =>
  resolution !== undefined && !(resolution.decidedBy?.includes("policy") ?? false)

const Decision = ({ approval, place }: { readonly approval: ApprovalBlock; readonly place: RunPlace }) =>
  approval.resolution === undefined ? null : (
    <p className="action-decision">
      <ApprovalOutcome resolution={approval.resolution} projectId={place.projectId} />
    </p>
  )

const ActionDetails = ({ part, place }: { readonly part: ActionPart; readonly place: RunPlace }) => {
  const messages = useMessages(runMessages)
  const { approvals, files, patches, tool } = part
  const [showsInput, setShowsInput] = useState(patches.length === 0)
  return (
    <div className="action-details">
      {patches.map((patch) => (
        <PatchView key={patch.seq} patch={patch} place={place} />
      ))}
      {files.map(({ change, fromPath, path, seq }) => (
        <p key={seq} className="line">
          <span className="quiet">{messages.fileChanges[change]}</span>{" "}
          <code>
            {fromPath !== undefined && `${visibleLine(fromPath, 400)} → `}
            {visibleLine(path, 400)}
          </code>
        </p>
      ))}
      {approvals.map((approval) => (
        <div key={approval.seq}>
          {!isByPerson(approval) && <Decision approval={approval} place={place} />}
          {(tool === undefined || approval.resolution?.allowedInput !== undefined) && (
            <DecidedRequest request={approval.request} allowedInput={approval.resolution?.allowedInput} />
          )}
          <Link to="/approvals/$approvalId" params={{ approvalId: approval.approvalId }}>
            {messages.toApproval}
          </Link>
        </div>
      ))}
      {tool !== undefined && (
        <>
          {showsInput ? (
            <ActionInput tool={tool} place={place} />
          ) : (
            <button
              type="button"
              className="clipped-more"
              aria-expanded={false}
              onClick={() => setShowsInput(true)}
            >
              {messages.input}
            </button>
          )}
          {tool.status !== "started" && (
            <>
              <h3>{messages.output}</h3>
              <ActionOutput tool={tool} place={place} />
            </>
          )}
        </>
      )}
    </div>
  )
}

interface ActionCardProps {
  readonly part: ActionPart
  readonly place: RunPlace
  /** Text instead of "running", where the device is offline. */
  readonly silence: string | undefined
}

export const ActionCard = memo(({ part, place, silence }: ActionCardProps) => {
  const messages = useMessages(threadMessages)
  const run = useMessages(runMessages)
  const { language } = useLanguage()
  const [open, setOpen] = useState(false)
  const { approvals, tool } = part
  const [kind, state, time] = [kindOf(part), stateOf(part), usesTime(part)]
  const verbs = messages.verbs[kind]
  const isSilent = state === "started" && silence !== undefined
  const isRunning = state === "started" && !isSilent
  const verb = isRunning ? verbs.doing : state === "completed" ? verbs.done : verbs.begins
  const isFailure = state === "failed" && tool?.output !== undefined && tool.output.text.trim() !== ""
  return (
    <div className={`action action-${state}`}>
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="action-line">
          <Icon name={icons[kind]} />
          <span className="action-what">
            {verb !== "" && <span className="action-verb">{verb} </span>}
            <code>{visibleLine(targetOf(part), 400)}</code>
          </span>
          <span className={`tool-state tool-state-${isSilent ? "silent" : state}`}>
            {tool?.allowedInput !== undefined && (
              <strong className="tool-edited">{run.inputEdited} · </strong>
            )}
            <span aria-hidden="true">{isSilent ? "⊘" : marks[state]} </span>
            <span className={state === "completed" ? "hidden" : ""}>
              {isSilent ? silence : messages.actionStates[state]}
            </span>
            {tool?.exitCode !== undefined && tool.exitCode !== 0 && `, ${run.exit(tool.exitCode)}`}
            {time >= SHORTEST_MS && <span className="quiet"> {formatDuration(time, language)}</span>}
          </span>
        </summary>
        {open && <ActionDetails part={part} place={place} />}
      </details>
      {approvals.filter(isByPerson).map((approval) => (
        <Decision key={approval.seq} approval={approval} place={place} />
      ))}
      {tool?.content !== undefined && <ResultContent content={tool.content} place={place} />}
      {isFailure && !open && <OutputTail text={tool.output.text} />}
      {tool?.kernelRefusal !== undefined && (
        <p className="action-decision">{run.kernelRefusals[tool.kernelRefusal]}</p>
      )}
    </div>
  )
})
