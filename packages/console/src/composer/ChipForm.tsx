/** A choice below the text of a composer that is written: a chip with the current value, and a small form that sets it or resets it. */
import { Popover } from "@base-ui/react/popover"
import { type ReactNode, useState } from "react"
import type { IconName } from "../ui/Icon.tsx"
import { focusFirstField } from "../ui/InitialFocus.ts"
import { ChipFace, chipClass } from "./ChipMenu.tsx"
import "./composer.css"

interface ChipFormProps {
  /** What is chosen. Part of the accessible name. */
  readonly label: string
  readonly icon: IconName
  /** The current choice. */
  readonly text: string
  /** Whether only the icon is shown. */
  readonly isBare?: boolean
  readonly useLabel: string
  readonly resetLabel: string
  readonly onSubmit: (form: FormData) => void
  readonly onReset: () => void
  /** The fields. */
  readonly children: ReactNode
}

export const ChipForm = (props: ChipFormProps) => {
  const { children, icon, isBare = false, label, onReset, onSubmit, resetLabel, text, useLabel } = props
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`${chipClass(true)}${isBare ? " chip-bare" : ""}`}
        aria-label={`${label}: ${text}`}
      >
        <ChipFace {...{ icon, label, text }} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="menu-positioner" sideOffset={6} align="start">
          <Popover.Popup className="menu chip-popup" aria-label={label} initialFocus={false}>
            <form
              className="form"
              ref={focusFirstField}
              onSubmit={(event) => {
                event.preventDefault()
                event.stopPropagation()
                onSubmit(new FormData(event.currentTarget))
                setOpen(false)
              }}
            >
              {children}
              <div className="form-actions">
                <button type="submit" className="button primary">
                  {useLabel}
                </button>
                <button
                  type="button"
                  className="button"
                  onClick={() => {
                    onReset()
                    setOpen(false)
                  }}
                >
                  {resetLabel}
                </button>
              </div>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
