import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * The system class loader as Java 8 has it, for programs that cast it to URLClassLoader (Hive 0.12 does, to add jars). Named by
 * -Djava.system.class.loader, it loads the class path itself, since none of it is known to the loader above. The version is Java 8's too: the
 * DataNucleus of Hive asks whether both numbers of "17.0" are at least those of "1.5".
 */
public class UrlClassLoader extends URLClassLoader {
    public UrlClassLoader(ClassLoader usual) throws MalformedURLException {
        super(classPath(), usual.getParent());
        System.setProperty("java.version", "1.8.0");
    }

    private static URL[] classPath() throws MalformedURLException {
        String[] places = System.getProperty("java.class.path").split(File.pathSeparator);
        URL[] urls = new URL[places.length];
        for (int place = 0; place < places.length; place++) {
            urls[place] = new File(places[place]).toURI().toURL();
        }
        return urls;
    }
}
