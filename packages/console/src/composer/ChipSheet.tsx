/** Chips of a composer: in its row, or on a phone behind one button that names the main ones, as rows of a sheet. */
import { Dialog } from "@base-ui/react/dialog"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { phone, useMedia } from "../ui/useMedia.ts"
import { chipClass } from "./ChipMenu.tsx"
import { composerMessages } from "./messages.ts"
import "./composer.css"

interface Props {
  /** What is chosen, in the order of its weight. */
  readonly summary: ReadonlyArray<string | undefined>
  /** Whether a choice needs attention. */
  readonly isWarning?: boolean
  readonly children: ReactNode
}

export const ChipSheet = ({ children, isWarning = false, summary }: Props) => {
  const messages = useMessages(composerMessages)
  const isPhone = useMedia(phone)
  const text = summary.filter((part) => part !== undefined).join(" · ")
  if (!isPhone || text === "") return children
  return (
    <Dialog.Root>
      <Dialog.Trigger
        className={`${chipClass(false, isWarning)} chip-summary`}
        aria-label={`${messages.settings}: ${text}`}
      >
        <Icon name="options" size={14} />
        <bdi className="chip-text">{text}</bdi>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="chip-sheet">
          <Dialog.Title className="chip-sheet-title">{messages.settings}</Dialog.Title>
          {children}
          <Dialog.Close className="button primary">{messages.done}</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
