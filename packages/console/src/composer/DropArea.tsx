/** Box of a composer with a line of help below it. Takes dropped files, and marks itself while files are above it. */
import { type DragEvent, type ReactNode, useState } from "react"
import type { Draft } from "./Draft.ts"
import { ComposerHint } from "./SendButton.tsx"
import "./composer.css"

interface Props {
  readonly draft: Draft
  readonly onSubmit: () => void
  /** What happens to the message. Empty: nothing special. */
  readonly hint: string
  /** What the keys do, shown without another line of help. */
  readonly keys: string
  readonly children: ReactNode
}

const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes("Files")

export const DropArea = ({ children, draft, hint, keys, onSubmit }: Props) => {
  const [isOver, setOver] = useState(false)
  return (
    <form
      className="composer-frame"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
      onDragOver={(event) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false)
      }}
      onDrop={(event) => {
        setOver(false)
        if (!hasFiles(event)) return
        event.preventDefault()
        draft.files.add([...event.dataTransfer.files])
      }}
    >
      <div className={isOver ? "composer composer-over" : "composer"}>{children}</div>
      <ComposerHint draft={draft} keys={keys}>
        {hint}
      </ComposerHint>
    </form>
  )
}
