/**
 * Open questions above the composer, one at a time, oldest first. Texts for a question that ends go to `UnsentText`. After an answer here, the focus goes to the next one, or to the text field
 * below.
 */
import type { HubInput } from "@corral/domain/hub-api/HubRun"
import { useContext, useEffect, useRef, useState } from "react"
import { AnsweredNote } from "./AnsweredNote.tsx"
import { UnsentText } from "../ui/UnsentText.ts"
import { InputCard } from "./InputCard.tsx"
import { takeUnsentTexts } from "./useFormDraft.ts"

interface Props {
  readonly inputs: ReadonlyArray<HubInput>
  /** Whether an approval is shown instead. What was chosen and written stays. */
  readonly isHidden: boolean
}

export const InputDock = ({ inputs, isHidden }: Props) => {
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
