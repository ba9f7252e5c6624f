/** One action of an agent: what it does and its state on one line, who decided it, and on request its changes, input and output. */
import { isClipped } from "@corral/domain/run/BoundedText"
import type { ApprovalBlock, PatchBlock } from "@corral/domain/run/RunBlock"
import { Link } from "@tanstack/react-router"
import { memo, useState } from "react"
import { ApprovalOutcome } from "../approval/ApprovalOutcome.tsx"
import { DecidedRequest } from "../approval/DecidedRequest.tsx"
import { Patch } from "../diff/Patch.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { WholeText } from "../run/WholeText.tsx"
import { runMessages } from "../run/messages.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "../ui/Icon.tsx"
import { ActionInput } from "./ActionInput.tsx"
import { type ActionKind, type ActionState, kindOf, stateOf, targetOf } from "./ActionKind.ts"
import { ActionOutput, OutputTail } from "./ActionOutput.tsx"
import { formatDuration } from "../text/Duration.ts"
import { ResultContent } from "./ResultContent.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { threadMessages } from "./messages.ts"
import type { ActionPart } from "./WorkPart.ts"
import "../run/run.css"
import "./work.css"

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

interface Props {
  readonly part: ActionPart
  readonly place: RunPlace
  /** Text instead of "running", where the device is offline. */
  readonly silence: string | undefined
}

export const ActionCard = memo(({ part, place, silence }: Props) => {
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
