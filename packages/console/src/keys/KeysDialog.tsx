/** Dialog with the keys of the console, and the switch for single letters. */
import { Dialog } from "@base-ui/react/dialog"
import { useRef } from "react"
import { useMessages } from "../text/Language.tsx"
import { keysMessages } from "./messages.ts"
import { useSingleKeys } from "./Shortcut.ts"
import "./keys.css"

interface Props {
  readonly open: boolean
  readonly onClose: () => void
}

export const KeysDialog = ({ onClose, open }: Props) => {
  const messages = useMessages(keysMessages)
  const [singleKeys, setSingleKeys] = useSingleKeys()
  // The first control is below all keys: its focus would scroll them out of sight.
  const heading = useRef<HTMLHeadingElement>(null)
  return (
    <Dialog.Root
      open={open}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose()
      }}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog" initialFocus={heading}>
          <Dialog.Title ref={heading} tabIndex={-1} className="dialog-title">
            {messages.title}
          </Dialog.Title>
          {messages.groups.map(([name, keys]) => (
            <section key={name} className="keys-group">
              <h3>{name}</h3>
              <dl className="keys-list">
                {keys.map(([what, ...combinations]) => (
                  <div key={what}>
                    <dt>{what}</dt>
                    <dd>
                      {combinations.map((combination) => (
                        <kbd key={combination}>{combination}</kbd>
                      ))}
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
          <label className="choice">
            <input
              type="checkbox"
              checked={singleKeys}
              onChange={({ currentTarget }) => setSingleKeys(currentTarget.checked)}
            />
            {messages.singleKeys}
          </label>
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
