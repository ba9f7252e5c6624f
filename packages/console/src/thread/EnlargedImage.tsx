/** An image as large as the window. */
import { Dialog } from "@base-ui/react/dialog"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { threadMessages } from "./messages.ts"
import "./work.css"

interface Props {
  readonly url: string
  readonly name: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Actions in the head. */
  readonly children: ReactNode
}

export const EnlargedImage = ({ children, isOpen, name, onClose, url }: Props) => {
  const messages = useMessages(threadMessages)
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="enlarged">
          <div className="enlarged-head">
            <Dialog.Title className="enlarged-title">
              <bdi>{name}</bdi>
            </Dialog.Title>
            {children}
            <Dialog.Close className="icon-button" aria-label={messages.close}>
              <Icon name="close" />
            </Dialog.Close>
          </div>
          <img src={url} alt={name} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
