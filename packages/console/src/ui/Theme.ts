/** Theme: the system theme, or the user's choice, stored in this browser. Style sheets use `data-theme`. */
import { useState } from "react"

export type Theme = "system" | "light" | "dark"
export const themes: ReadonlyArray<Theme> = ["system", "light", "dark"]

const STORED = "corral.theme"

const stored = (): Theme => themes.find((theme) => theme === localStorage.getItem(STORED)) ?? "system"

const show = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
}

/** Applies the stored theme before the first render. */
export const showStoredTheme = (): void => show(stored())

export const useTheme = () => {
  const [theme, setTheme] = useState(stored)
  const choose = (chosen: Theme): void => {
    localStorage.setItem(STORED, chosen)
    show(chosen)
    setTheme(chosen)
  }
  return [theme, choose] as const
}
