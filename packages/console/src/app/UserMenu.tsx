/** User menu: account, theme, language and sign-out. */
import { Menu } from "@base-ui/react/menu"
import { useNavigate } from "@tanstack/react-router"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useSignOut } from "../api/SignOut.ts"
import { type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type Theme, themes, useTheme } from "../ui/Theme.ts"
import { appMessages } from "./messages.ts"

const languages: ReadonlyArray<readonly [Language, string]> = [
  ["en", "English"],
  ["zh", "中文"]
]

export const UserMenu = () => {
  const messages = useMessages(appMessages)
  const { language, selectLanguage } = useLanguage()
  const [theme, choose] = useTheme()
  const { user } = useCurrentUser()
  const navigate = useNavigate()
  const signOut = useSignOut()
  return (
    <Menu.Root>
      <Menu.Trigger className="user-button">
        <Icon name="account" size={18} />
        <bdi>{user.name}</bdi>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="menu-positioner" side="top" sideOffset={6} align="start">
          <Menu.Popup className="menu">
            <Menu.Item className="menu-item" onClick={() => void navigate({ to: "/account" })}>
              <span>
                <strong>{user.name}</strong>
                <br />
                <span className="quiet">{user.email ?? messages.account}</span>
              </span>
            </Menu.Item>
            <Menu.Item className="menu-item" onClick={() => void navigate({ to: "/audit" })}>
              {messages.audit}
            </Menu.Item>
            <Menu.Separator className="menu-line" />
            <Menu.Group>
              <Menu.GroupLabel className="menu-label">{messages.appearance}</Menu.GroupLabel>
              <Menu.RadioGroup value={theme} onValueChange={(chosen: Theme) => choose(chosen)}>
                {themes.map((each) => (
                  <Menu.RadioItem key={each} className="menu-item" value={each} closeOnClick={false}>
                    <span className="menu-mark">{theme === each ? "✓" : ""}</span>
                    {messages.themes[each]}
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            </Menu.Group>
            <Menu.Separator className="menu-line" />
            <Menu.Group>
              <Menu.GroupLabel className="menu-label">{messages.language}</Menu.GroupLabel>
              <Menu.RadioGroup value={language} onValueChange={(chosen: Language) => selectLanguage(chosen)}>
                {languages.map(([each, name]) => (
                  <Menu.RadioItem key={each} className="menu-item" value={each} closeOnClick={false}>
                    <span className="menu-mark">{language === each ? "✓" : ""}</span>
                    <span lang={each}>{name}</span>
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
            </Menu.Group>
            <Menu.Separator className="menu-line" />
            <Menu.Item className="menu-item" onClick={signOut}>
              {messages.signOut}
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
