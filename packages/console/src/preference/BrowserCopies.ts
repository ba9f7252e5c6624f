/**
 * Theme and language of the user. They are preferences at the Hub, with a copy in this browser for the first paint and the sign-in page. The Hub's
 * value wins; without one, the copy stays.
 */
import { useEffect } from "react"
import { type Language, useLanguage } from "../text/Language.tsx"
import { storeTheme, type Theme, useStoredTheme } from "../ui/Theme.ts"
import { useChangePreferences, usePreferences } from "./StoredPreferences.ts"

/** Brings the copies of this browser up to date while mounted. */
export const useBrowserCopies = (): void => {
  const { language, theme } = usePreferences() ?? {}
  const { selectLanguage } = useLanguage()
  useEffect(() => {
    if (theme !== undefined) storeTheme(theme)
  }, [theme])
  useEffect(() => {
    if (language !== undefined) selectLanguage(language)
  }, [language, selectLanguage])
}

export const useTheme = (): readonly [Theme, (theme: Theme) => void] => {
  const change = useChangePreferences()
  return [
    useStoredTheme(),
    (theme) => {
      storeTheme(theme)
      change(() => ({ theme }))
    }
  ]
}

export const useSelectLanguage = (): ((language: Language) => void) => {
  const change = useChangePreferences()
  const { selectLanguage } = useLanguage()
  return (language) => {
    selectLanguage(language)
    change(() => ({ language }))
  }
}
