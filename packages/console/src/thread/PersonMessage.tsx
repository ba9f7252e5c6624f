/** Message of a person: author, time, files, and the text as typed. A long text shows three lines until it is unfolded. */
import { firstCharacters } from "@corral/domain/text/Cut"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Attachment } from "@corral/domain/session/Attachment"
import type { Message, MessageAuthor } from "@corral/domain/session/Message"
import { memo, type ReactNode, useState } from "react"
import { AttachmentList } from "../composer/AttachedFiles.tsx"
import { Clipped } from "../markdown/Clipped.tsx"
import { visibleText, visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Time } from "../ui/Time.tsx"
import { threadMessages } from "./messages.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useMemberName } from "../api/ProjectsAndTargets.ts"
import "./thread.css"

/** Name of a person. The text of "you" for the reader. */
const usePersonName = (projectId: HubRun["projectId"] | undefined, author: MessageAuthor): string => {
  const messages = useMessages(threadMessages)
  const { user } = useCurrentUser()
  const userId = author.kind === "agent" || author.userId === user.id ? undefined : author.userId
  const name = useMemberName(projectId, userId)
  if (author.kind === "agent") return messages.agent
  if (author.userId === user.id) return messages.you
  return visibleLine(name ?? author.userId, 60)
}

/** A longer text is folded. */
const LINES = 3
const CHARACTERS = 240

const isLong = (text: string): boolean =>
  text.length > CHARACTERS || text.split("\n", LINES + 1).length > LINES

/** A text as typed, folded if it is long. */
const TypedText = ({ isUnfolded, text }: { readonly text: string; readonly isUnfolded: boolean }) => {
  const messages = useMessages(threadMessages)
  const [open, setOpen] = useState(isUnfolded)
  const visible = visibleText(text)
  if (!isLong(text)) return <div className="said">{visible}</div>
  return (
    <>
      {open ? (
        <Clipped text={visible} />
      ) : (
        <div className="said said-folded">{firstCharacters(visible, 2_000)}</div>
      )}
      <button type="button" className="clipped-more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? messages.showLess : messages.showAll}
      </button>
    </>
  )
}

interface FrameProps {
  readonly author: ReactNode
  readonly at: string
  readonly text: string
  readonly files?: ReadonlyArray<Attachment> | undefined
  readonly tag?: string | undefined
  readonly isNote?: boolean
  /** Whether a search led to it. It is unfolded at first. */
  readonly isFound?: boolean
}

/** A message whose author has no account here, such as the prompt of a run without a session. */
export const TypedMessage = ({
  at,
  author,
  files,
  isFound = false,
  isNote = false,
  tag,
  text
}: FrameProps) => (
  <article className={`person ${isNote ? "person-note" : ""} ${isFound && isNote ? "entry-found" : ""}`}>
    <h2 className="person-head">
      <bdi>{author}</bdi>
      {tag !== undefined && <span className="quiet"> · {tag}</span>}
      <span className="quiet">
        {" · "}
        <Time at={at} />
      </span>
    </h2>
    <div className="person-text">
      <TypedText key={String(isFound)} text={text} isUnfolded={isFound} />
      <AttachmentList attachments={files} />
    </div>
  </article>
)

interface Props {
  readonly message: Message
  readonly projectId: HubRun["projectId"] | undefined
  /** Whether a search led to it. */
  readonly isFound?: boolean
}

export const PersonMessage = memo(({ isFound = false, message, projectId }: Props) => {
  const messages = useMessages(threadMessages)
  const { attachments, author, createdAt, delivery, text, when } = message
  const isNote = delivery === undefined
  const tag = isNote ? messages.note : when === "now" ? messages.sentWhile : undefined
  return (
    <TypedMessage
      author={usePersonName(projectId, author)}
      at={createdAt}
      files={attachments}
      {...{ isFound, isNote, tag, text }}
    />
  )
})
