/**
 * Open questions above the composer, one at a time, oldest first, and a note where the shown one was answered elsewhere or has no answer. Texts
 * for a question that ends go to `UnsentText`. After an answer here, the focus goes to the next one, or to the text field below.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { useQuery } from "@tanstack/react-query"
import { useContext, useEffect, useRef, useState } from "react"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { UnsentText } from "../ui/UnsentText.tsx"
import { InputCard } from "./InputCard.tsx"
import { InputOutcome } from "./InputOutcome.tsx"
import { inputMessages } from "./messages.ts"
import { takeUnsentTexts } from "./FormDraft.ts"
import "../approval/approval.css"

interface AnsweredNoteProps {
  readonly input: HubInput
  readonly onDismiss: () => void
}

/** Note that a shown question was answered elsewhere, or has no answer. */
const AnsweredNote = ({ input: { id, kind, projectId, title }, onDismiss }: AnsweredNoteProps) => {
  const messages = useMessages(inputMessages)
  const { user } = useCurrentUser()
  const { data } = useQuery({
    queryKey: ["inputs", "one", id],
    queryFn: ({ signal }) => hubApi.inputs.get({ params: { id }, signal })
  })
  // The person knows an own answer, and the thread shows why a question was withdrawn.
  const isShown =
    data !== undefined &&
    data.state !== "pending" &&
    data.state !== "cancelled" &&
    data.state !== "withdrawn" &&
    data.answeredBy !== user.id
  return (
    <div className={isShown ? "decided-note" : "hidden"} role="status">
      {isShown && (
        <>
          <span>
            {messages.answeredElsewhere(visibleLine(title, 80))}{" "}
            <InputOutcome kind={kind} resolution={data} projectId={projectId} />
          </span>
          <button type="button" className="icon-button" aria-label={messages.dismiss} onClick={onDismiss}>
            <Icon name="close" />
          </button>
        </>
      )}
    </div>
  )
}

interface InputDockProps {
  readonly inputs: ReadonlyArray<HubInput>
  /** Whether an approval is shown instead. What was chosen and written stays. */
  readonly isHidden: boolean
}

export const InputDock = ({ inputs, isHidden }: InputDockProps) => {
  const dock = useRef<HTMLDivElement>(null)
  const card = useRef<HTMLElement>(null)
  const answeredHere = useRef(new Set<HubInput["id"]>())
  const before = useRef<HubInput>(undefined)
  const [left, setLeft] = useState<HubInput>()
  const [current] = inputs
  const keep = useContext(UnsentText)
  useEffect(() => {
    const previous = before.current
    before.current = current
    if (previous === undefined || previous.id === current?.id) return
    setLeft(previous)
    if (!answeredHere.current.has(previous.id)) {
      const text = takeUnsentTexts(previous.id)
      return text === "" ? undefined : keep?.(text)
    }
    // The button that was pressed has left with its card.
    const next = current === undefined ? dock.current?.parentElement?.querySelector("textarea") : card.current
    next?.focus()
  }, [current, keep])
  return (
    <div ref={dock} className="approval-dock" hidden={isHidden}>
      {left !== undefined && <AnsweredNote key={left.id} input={left} onDismiss={() => setLeft(undefined)} />}
      {current !== undefined && (
        <InputCard
          key={current.id}
          input={current}
          card={card}
          count={inputs.length}
          onAnswered={(id) => answeredHere.current.add(id)}
        />
      )}
    </div>
  )
}
