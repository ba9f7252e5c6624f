/** A block of the work that is not an action: a text, a file for the reader, a note of the runtime. The table has a view for each kind. */
import { Fragment, memo, type ReactNode } from "react"
import { UserName } from "../approval/UserName.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { InputRecord } from "./InputRecord.tsx"
import { ArtifactLink } from "../review/ArtifactLink.tsx"
import { MessageView } from "../run/MessageView.tsx"
import { PreviewView } from "../review/PreviewView.tsx"
import { runMessages } from "../run/messages.ts"
import { useMessages } from "../text/Language.tsx"
import { useErrorSentence } from "../ui/errorSentence.ts"
import { PersonMessage } from "./PersonMessage.tsx"
import { RepositoryChanges } from "./RepositoryChanges.tsx"
import type { RunPlace } from "./RunPlace.ts"
import { StepList } from "./StepList.tsx"
import { TurnStopped } from "./TurnFailure.tsx"
import { WorkLine } from "./WorkLine.tsx"
import type { BlockPart } from "./WorkPart.ts"
import "../run/run.css"
import "./work.css"

type Block = BlockPart["block"]

interface Props {
  readonly block: Block
  readonly place: RunPlace
  /** Whether the run has ended. */
  readonly isOver: boolean
}

type ViewProps<B extends Block> = Omit<Props, "block"> & {
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

export const BlockRow = memo((props: Props) => {
  const messages = useMessages(runMessages)
  // The view and the block have the same kind; TypeScript does not follow the indexed union.
  const view = views[props.block.kind] as (props: ViewProps<Block>) => ReactNode
  return view({ ...props, messages, textOf: useErrorSentence() })
})
