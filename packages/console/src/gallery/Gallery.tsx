/**
 * Gallery of the shared components, at `/gallery` of development builds: no Hub, no sign-in.
 *
 * Has its own router in memory, so that specimens can contain links.
 */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router"
import { LanguageProvider, useLanguage, useMessages } from "../text/Language.tsx"
import { storeTheme, useStoredTheme } from "../ui/Theme.ts"
import { galleryMessages } from "./messages.ts"
import { specimens } from "./specimens.tsx"
import "./gallery.css"

const Specimens = () => {
  const messages = useMessages(galleryMessages)
  const { language, selectLanguage } = useLanguage()
  const theme = useStoredTheme()
  return (
    <main className="gallery">
      <header className="page-head">
        <h1>{messages.title}</h1>
        <div className="page-actions">
          <button
            type="button"
            className="button"
            aria-pressed={theme === "dark"}
            onClick={() => storeTheme(theme === "dark" ? "system" : "dark")}
          >
            {messages.theme}
          </button>
          <button
            type="button"
            className="button"
            onClick={() => selectLanguage(language === "en" ? "zh" : "en")}
          >
            {messages.language}
          </button>
        </div>
      </header>
      <p className="page-hint">{messages.hint}</p>
      {specimens.map(({ name, show }) => (
        <section key={name} className="gallery-specimen" aria-label={name}>
          <h2>
            <code>{name}</code>
          </h2>
          <div className="gallery-stage">{show(messages)}</div>
        </section>
      ))}
    </main>
  )
}

const router = createRouter({
  routeTree: createRootRoute({ component: Specimens }),
  history: createMemoryHistory()
})
const client = new QueryClient()

export const Gallery = () => (
  <LanguageProvider>
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>
  </LanguageProvider>
)
