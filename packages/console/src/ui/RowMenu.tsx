/** Actions of a list row, behind one button. A dialog that an action opens is rendered next to the menu. */
import { Menu } from "@base-ui/react/menu"
import type { ReactNode } from "react"
import { useMessages } from "../text/Language.tsx"
import { Icon, type IconName } from "./Icon.tsx"
import { uiMessages } from "./messages.ts"

interface ItemProps {
  readonly icon: IconName
  readonly onSelect: () => void
  readonly children: ReactNode
}

export const RowMenuItem = ({ children, icon, onSelect }: ItemProps) => (
  <Menu.Item className="menu-item" onClick={onSelect}>
    <Icon name={icon} />
    {children}
  </Menu.Item>
)

interface Props {
  /** Name of what the row shows, for the label of the button. */
  readonly of: string
  /** Id that the last item copies. */
  readonly id: string
  readonly children?: ReactNode
}

export const RowMenu = ({ children, id, of }: Props) => {
  const messages = useMessages(uiMessages)
  return (
    <Menu.Root>
      <Menu.Trigger className="icon-button" aria-label={messages.actionsOf(of)}>
        <Icon name="more" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" sideOffset={4} align="end">
          <Menu.Popup className="menu">
            {children}
            <RowMenuItem icon="copy" onSelect={() => void navigator.clipboard.writeText(id)}>
              {messages.copyId}
            </RowMenuItem>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
