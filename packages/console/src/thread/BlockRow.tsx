/**
 * A block of the work that is not an action: a text, a file for the reader, a question or a plan with its answer, changes of the repository, a
 * note of the runtime. The table has a view for each kind.
 */
import type { Question } from "@corral/domain/input/InputRequest"
import type { RepositoryChanged } from "@corral/domain/run/ProtectedChange"
import type { InputBlock } from "@corral/domain/run/RunBlock"
import { Fragment, type ReactNode, memo, useState } from "react"
import { UserName } from "../approval/ApprovalOutcome.tsx"
import { InputOutcome } from "../input/InputOutcome.tsx"
import { PlanView } from "../input/Plan.tsx"
import { inputMessages } from "../input/messages.ts"
import { visibleLine, visibleText } from "../markdown/visible.ts"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { PreviewView } from "../review/PreviewView.tsx"
import { MessageView } from "../run/MessageView.tsx"
import { runMessages } from "../run/messages.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { PersonMessage } from "./PersonMessage.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { StepList } from "./StepList.tsx"
import { TurnStopped } from "./TurnEnd.tsx"
import { WorkLine } from "./BackgroundWork.tsx"
import type { BlockPart } from "./WorkPart.ts"
import "./thread.css"
import "../input/input.css"
import "../run/run.css"
import "./work.css"

interface AnswerWords {
  readonly yes: string
  readonly no: string
  readonly hidden: string
  readonly none: string
}

const partText = ({ options = [] }: Question, part: unknown): string => {
  if (typeof part === "object" && part !== null)
    return "other" in part && typeof part.other === "string" ? visibleText(part.other) : ""
  const label = options.find(({ id }) => id === part)?.label
  return visibleText(label ?? String(part))
}

/** The recorded answer to a question as a person reads it: labels of the chosen options, and texts. A record has no content of a secret. */
const recordedTexts = (question: Question, value: unknown, words: AnswerWords): ReadonlyArray<string> => {
  if (question.secret === true) return [value === undefined ? words.none : words.hidden]
  if (value === undefined) return [words.none]
  if (typeof value === "boolean") return [value ? words.yes : words.no]
  return (Array.isArray(value) ? value : [value]).map((part) => partText(question, part))
}

interface InputRecordProps {
  readonly block: InputBlock
  readonly place: RunPlace
}

const Answers = ({ block: { request, resolution } }: InputRecordProps) => {
  const messages = useMessages(inputMessages)
  const { questions = [] } = request
  if (resolution?.answers === undefined || questions.length === 0) return null
  return (
    <dl className="record-answers">
      {questions.map((question) => (
        <div key={question.id}>
          {(questions.length > 1 || question.text !== request.title) && (
            <dt>
              <bdi>{visibleText(question.text)}</bdi>
            </dt>
          )}
          {recordedTexts(question, resolution.answers?.[question.id], messages).map((text, at) => (
            <dd key={at}>
              <bdi>{text}</bdi>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  )
}

const PlanFold = ({ plan }: { readonly plan: string }) => {
  const messages = useMessages(inputMessages)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="fold-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? "fold" : "unfold"} />
        <span>{isOpen ? messages.hidePlan : messages.showPlan}</span>
      </button>
      {isOpen && <PlanView plan={plan} />}
    </>
  )
}

/** A question or a plan in the thread: what was asked, what was answered, and what became of it. An open one is answered below the thread. */
const InputRecord = (props: InputRecordProps) => {
  const { block, place } = props
  const messages = useMessages(inputMessages)
  const { request, resolution, state } = block
  const isOpen = state === "pending"
  const head = (
    <h3 className="record-head">
      <span aria-hidden="true">{isOpen ? "◆" : state === "answered" ? "✓" : "○"} </span>
      <span className="input-kind">{messages.kinds[request.kind]}</span>
      <bdi>{visibleLine(request.title, 400)}</bdi>
    </h3>
  )
  if (isOpen) return <section className="record-open">{head}</section>
  return (
    <section className="record">
      {head}
      <Answers {...props} />
      {request.plan !== undefined && <PlanFold plan={request.plan} />}
      {resolution?.comment !== undefined && resolution.comment !== "" && (
        <blockquote className="record-comment">{visibleText(resolution.comment)}</blockquote>
      )}
      {resolution !== undefined && (
        <p className="record-note">
          <InputOutcome kind={request.kind} resolution={resolution} projectId={place.projectId} />
        </p>
      )}
    </section>
  )
}

interface RepositoryChangesProps {
  readonly change: RepositoryChanged
  readonly messages: (typeof runMessages)["en"]
}

/** What a run in place changed in the repository without an approved git command, as one line. Nothing if no change is known. */
const RepositoryChanges = ({ change, messages }: RepositoryChangesProps) => {
  const { count, fileCount = 0, files = [], head, index, refs } = change
  const named = (name: string, note: string): ReactNode => (
    <>
      <code>{visibleLine(name, 400)}</code> ({note})
    </>
  )
  const parts: ReadonlyArray<ReactNode> = [
    ...refs.map(({ from, name, to }) =>
      named(
        name,
        messages.fileChanges[from === undefined ? "created" : to === undefined ? "deleted" : "modified"]
      )
    ),
    ...(head === undefined ? [] : [named("HEAD", visibleLine(head.to, 400))]),
    ...(index === true ? [messages.repositoryIndex] : []),
    ...files.map(({ change, discarded, path }) =>
      named(`.git/${path}`, messages.fileChanges[change] + (discarded === true ? messages.discarded : ""))
    )
  ]
  const more = count - refs.length + fileCount - files.length
  if (parts.length === 0) return null
  return (
    <>
      <strong>{messages.repositoryChanged}</strong>{" "}
      {parts.map((part, at) => (
        // The list of one event does not change.
        <Fragment key={at}>
          {at > 0 && messages.separator}
          {part}
        </Fragment>
      ))}
      {more > 0 && messages.moreChanges(more)}
      {messages.reviewRepository}{" "}
    </>
  )
}

type Block = BlockPart["block"]

interface BlockRowProps {
  readonly block: Block
  readonly place: RunPlace
  /** Whether the run has ended. */
  readonly isOver: boolean
}

type ViewProps<B extends Block> = Omit<BlockRowProps, "block"> & {
  readonly block: B
  readonly messages: (typeof runMessages)["en"]
  readonly textOf: ReturnType<typeof useErrorSentence>
}

const views: {
  readonly [K in Block["kind"]]: (props: ViewProps<Extract<Block, { kind: K }>>) => ReactNode
} = {
  message: ({ block, isOver, place }) => {
    const input = block.role === "user" ? place.inputs.get(block.messageId) : undefined
    return input === undefined ? (
      <MessageView block={block} runId={place.runId} isOver={isOver} />
    ) : (
      <PersonMessage message={input} projectId={place.projectId} />
    )
  },
  artifact: ({ block, messages, place }) => (
    <p className="line">
      <span className="quiet">{messages.artifact}</span>{" "}
      <ArtifactLink runId={place.runId} artifactId={block.artifactId}>
        {visibleLine(block.name)}
      </ArtifactLink>{" "}
      <span className="quiet">
        {visibleLine(block.mediaType, 60)}, {messages.bytes(block.size)}
      </span>
    </p>
  ),
  preview: ({ block, place: { projectId, runId, targetId } }) => (
    <PreviewView {...{ block, projectId, runId, targetId }} />
  ),
  warning: ({ block, messages, textOf }) =>
    block.isRepeated ? null : (
      <p className="line warning" title={block.code}>
        <strong>{messages.warning}</strong> {visibleLine(textOf(block), 2_000)}
      </p>
    ),
  protected: ({ block: { changes }, messages }) => (
    <p className="line warning">
      {changes.count > 0 && (
        <>
          <strong>{messages.protectedChanged}</strong>{" "}
          {changes.files.map(({ change, discarded, path }, at) => (
            <Fragment key={path}>
              {at > 0 && messages.separator}
              <code>{visibleLine(path, 400)}</code> ({messages.fileChanges[change]}
              {discarded === true && messages.discarded})
            </Fragment>
          ))}
          {changes.count > changes.files.length && messages.moreChanges(changes.count - changes.files.length)}
          {messages.reviewProtected}{" "}
        </>
      )}
      {changes.incomplete === true && messages.protectedUnread}
    </p>
  ),
  repository: ({ block: { change }, messages }) => (
    <p className="line warning">
      <RepositoryChanges change={change} messages={messages} />
      {change.incomplete === true && messages.repositoryUnread}
    </p>
  ),
  retry: ({ block, messages }) => (
    <p className="line quiet">
      {messages.retrying(block.retry)}
      {block.retry.message !== undefined && ` · ${visibleLine(block.retry.message, 500)}`}
    </p>
  ),
  start: ({ block: { confinementFailure, endsWithEdge, model, projectSettings }, messages, place }) => (
    <>
      {confinementFailure !== undefined && !place.isConfinementKnown && (
        <p className="line warning">
          <strong>{messages.warning}</strong> {messages.notConfined(visibleLine(confinementFailure, 400))}
        </p>
      )}
      {endsWithEdge && (
        <p className="line warning">
          <strong>{messages.warning}</strong> {messages.endsWithEdge}
        </p>
      )}
      {projectSettings !== undefined && (
        <p className="line quiet">
          {model !== undefined && `${visibleLine(model, 100)} · `}
          {messages.projectSettings[projectSettings.use]} {visibleLine(projectSettings.files.join(", "), 500)}
        </p>
      )}
    </>
  ),
  pause: ({ block: { by, change, reason }, messages, place }) => (
    <p className="line quiet">
      <span aria-hidden="true">{change === "paused" ? "▮▮" : "●"} </span>
      {messages.pauses[change]}
      {by !== undefined && (
        <>
          {" "}
          (<UserName by={by} projectId={place.projectId} />)
        </>
      )}
      {reason !== undefined && ` ${visibleLine(reason, 1_000)}`}
    </p>
  ),
  input: ({ block, place }) => <InputRecord block={block} place={place} />,
  work: ({ block, isOver }) => <WorkLine block={block} isOver={isOver} />,
  steps: ({ block }) => <StepList block={block} />,
  notice: ({ block: { notice }, messages }) => (
    <p className={notice.kind === "warning" || notice.kind === "refused" ? "line warning" : "line quiet"}>
      {messages.notices[notice.kind] !== "" && <strong>{messages.notices[notice.kind]} </strong>}
      <bdi>{visibleLine(notice.text, 2_000)}</bdi>
    </p>
  ),
  // The message that starts a turn is shown itself.
  turn: ({ block: { by }, messages }) =>
    by === "program" ? <p className="line turn-line">{messages.continued}</p> : null,
  gap: ({ block, messages }) => <p className="line warning">{messages.gap(block.from, block.to)}</p>,
  // The turn shows the changes and a failure below the work.
  diff: () => null,
  unknown_changes: () => null,
  end: ({ block: { by, reason, state, stopped = [] }, messages, place }) => {
    if (state === "cancelled") return <TurnStopped by={by} reason={reason} projectId={place.projectId} />
    return stopped.length === 0 ? null : (
      <p className="line quiet">
        {messages.finished} {stopped.map((title) => visibleLine(title, 200)).join(messages.separator)}
      </p>
    )
  }
}

export const BlockRow = memo((props: BlockRowProps) => {
  const messages = useMessages(runMessages)
  // The view and the block have the same kind; TypeScript does not follow the indexed union.
  const view = views[props.block.kind] as (props: ViewProps<Block>) => ReactNode
  return view({ ...props, messages, textOf: useErrorSentence() })
})
