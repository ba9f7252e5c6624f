/** Entry point of the console. Development builds have a gallery of its components too. */
import { lazy, StrictMode, Suspense } from "react"
import { createRoot } from "react-dom/client"
import { App } from "./app/App.tsx"
import "./ui/tokens.css"
import "./ui/ui.css"
import "./ui/touch.css"
import "./app/app.css"

const galleryOf = () => {
  const Gallery = lazy(async () => ({ default: (await import("./gallery/Gallery.tsx")).Gallery }))
  return (
    <Suspense>
      <Gallery />
    </Suspense>
  )
}

const root = document.getElementById("root")
if (root !== null)
  createRoot(root).render(
    <StrictMode>{import.meta.env.DEV && location.pathname === "/gallery" ? galleryOf() : <App />}</StrictMode>
  )
