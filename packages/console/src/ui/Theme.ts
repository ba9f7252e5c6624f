/** Theme of this browser: the system theme, or the user's choice. Style sheets use `data-theme`. */
import type { Theme } from "@corral/domain/preference/Preferences"
import { storeText, useStoredText } from "./StoredText.ts"

export type { Theme }
export const themes: ReadonlyArray<Theme> = ["system", "light", "dark"]

const STORED = "corral.theme"

const themeOf = (text: string | null): Theme => themes.find((theme) => theme === text) ?? "system"

const show = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
}

/** Applies the stored theme before the first render. */
export const showStoredTheme = (): void => show(themeOf(localStorage.getItem(STORED)))

export const useStoredTheme = (): Theme => themeOf(useStoredText(STORED)[0])

/** Shows a theme, and stores it in this browser. */
export const storeTheme = (theme: Theme): void => {
  storeText(STORED, theme)
  show(theme)
}
