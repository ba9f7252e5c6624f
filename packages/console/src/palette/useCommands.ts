/** Commands of the palette: places, theme, language, notifications, keys and sign-out. Each is found by its name in both languages. */
import { useNavigate } from "@tanstack/react-router"
import { useSignOut } from "../api/SignOut.ts"
import { shortcuts } from "../keys/Shortcut.ts"
import { useNotificationSetting } from "../notification/NotificationSetting.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import type { IconName } from "../ui/Icon.tsx"
import { themes, useTheme } from "../ui/Theme.ts"
import type { PaletteItem } from "./PaletteItem.ts"
import { paletteMessages } from "./messages.ts"

type Command = keyof (typeof paletteMessages)["en"]["commands"]

const places = [
  ["home", "home", "/"],
  ["board", "board", "/board"],
  ["runs", "runs", "/runs"],
  ["approvals", "approvals", "/approvals"],
  ["devices", "devices", "/devices"],
  ["projects", "projects", "/projects"],
  ["audit", "audit", "/audit"],
  ["account", "account", "/account"]
] as const satisfies ReadonlyArray<readonly [Command, IconName, string]>

const otherWords = (command: Command): string =>
  `${paletteMessages.en.commands[command]} ${paletteMessages.zh.commands[command]}`

export const useCommands = (onKeys: () => void): ReadonlyArray<PaletteItem> => {
  const { commands: names } = useMessages(paletteMessages)
  const navigate = useNavigate()
  const [theme, choose] = useTheme()
  const { language, selectLanguage } = useLanguage()
  const notifications = useNotificationSetting()
  const signOut = useSignOut()
  const command = (name: Command, icon: IconName, run: () => void, shortcut?: string): PaletteItem => ({
    key: name,
    icon,
    title: names[name],
    words: otherWords(name),
    run,
    ...(shortcut === undefined ? {} : { shortcut })
  })
  const setting = (name: Command, icon: IconName, run: () => void): PaletteItem => ({
    ...command(name, icon, run),
    stays: true
  })
  return [
    command("newSession", "plus", () => void navigate({ to: "/start" }), shortcuts.newSession),
    ...places.map(([name, icon, to]) => command(name, icon, () => void navigate({ to }))),
    ...themes
      .filter((each) => each !== theme)
      .map((each) => setting(`${each}Theme`, "settings", () => choose(each))),
    language === "en"
      ? setting("chinese", "network", () => selectLanguage("zh"))
      : setting("english", "network", () => selectLanguage("en")),
    ...(notifications.state === "unsupported" || notifications.state === "blocked"
      ? []
      : [
          notifications.state === "on"
            ? setting("notificationsOff", "bell", notifications.disable)
            : setting("notificationsOn", "bell", () => void notifications.enable())
        ]),
    command("keys", "command", onKeys, shortcuts.keys),
    command("signOut", "account", signOut)
  ]
}
